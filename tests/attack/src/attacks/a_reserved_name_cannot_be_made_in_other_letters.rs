//! File systems that fold case take `.GIT` for `.git`.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T008",
    name: "a_reserved_name_cannot_be_made_in_other_letters",
    holds: "a protected name that does not exist yet cannot be made with its letters in another case",
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.GIT"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let make = |name: &str| Answer::of(name, fs::create_dir(field.workspace(name)), DENIED);
    Answer::all(field, [".GIT", ".Git", ".gIt"].map(make))
}
