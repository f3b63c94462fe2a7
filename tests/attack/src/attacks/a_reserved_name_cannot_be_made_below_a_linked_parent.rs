//! A link to the workspace is another name of it.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use std::os::unix::fs::symlink;

pub(crate) const ATTACK: Attack = Attack {
    id: "T018i",
    name: "a_reserved_name_cannot_be_made_below_a_linked_parent",
    holds: "a protected name that does not exist yet cannot be made below a link to its directory",
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if let Err(error) = std::fs::write(field.workspace("innocent"), "gitdir: elsewhere") {
        return Answer::Broken(format!("cannot even make an ordinary file: {error}"));
    }
    if std::fs::create_dir(field.workspace("dir")).is_err() || symlink("..", field.workspace("dir/up")).is_err() {
        return Answer::Broken("cannot make an ordinary link".to_owned());
    }
    Answer::all(
        field,
        ["dir/up/.git", "dir/../.git", "dir/up/dir/up/./.git", ".//.git//"].map(|name| {
            let made = std::fs::create_dir(field.workspace("").join(name));
            let _ = std::fs::remove_dir(field.workspace(".git"));
            Answer::of(name, made, DENIED)
        }),
    )
}
