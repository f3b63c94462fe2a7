//! RENAME_EXCHANGE swaps two directories in one step.

use crate::answer::{Answer, PINNED};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{EXCHANGE, rename};
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T007c",
    name: "a_protected_directory_cannot_be_exchanged",
    holds: "neither a protected directory nor its parent can be exchanged with another",
    bait: |stage| Ok(stage.repository()?),
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git/hooks/pre-commit"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let evil = field.workspace("evil");
    let made = fs::create_dir_all(evil.join("hooks")).and_then(|()| fs::write(evil.join("hooks/pre-commit"), "x"));
    if let Err(error) = made {
        return Answer::Broken(format!("cannot make an ordinary directory: {error}"));
    }
    Answer::all(
        field,
        [
            Answer::of("exchange hooks", rename(&evil.join("hooks"), &field.workspace(".git/hooks"), EXCHANGE), PINNED),
            Answer::of("exchange .git", rename(&evil, &field.workspace(".git"), EXCHANGE), PINNED),
        ],
    )
}
