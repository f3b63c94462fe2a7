//! A link named `.git` to a directory that is writable.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use std::os::unix::fs::symlink;

pub(crate) const ATTACK: Attack = Attack {
    id: "T018c",
    name: "a_reserved_name_cannot_be_made_as_a_link",
    holds: "a protected name that does not exist yet cannot be made as a symbolic or hard link",
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if let Err(error) = std::fs::write(field.workspace("innocent"), "gitdir: elsewhere") {
        return Answer::Broken(format!("cannot even make an ordinary file: {error}"));
    }
    let git = field.workspace(".git");
    let linked = symlink("elsewhere", &git);
    let _ = std::fs::remove_file(&git);
    Answer::all(
        field,
        [
            Answer::of("symlink", linked, DENIED),
            Answer::of("hard link", std::fs::hard_link(field.workspace("innocent"), &git), DENIED),
        ],
    )
}
