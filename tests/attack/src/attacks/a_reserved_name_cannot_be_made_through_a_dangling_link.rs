//! Opening a link that leads nowhere makes the file that it names.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use std::os::unix::fs::symlink;

pub(crate) const ATTACK: Attack = Attack {
    id: "T018h",
    name: "a_reserved_name_cannot_be_made_through_a_dangling_link",
    holds: "a protected name that does not exist yet cannot be made through a link that leads to it",
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if let Err(error) = std::fs::write(field.workspace("innocent"), "gitdir: elsewhere") {
        return Answer::Broken(format!("cannot even make an ordinary file: {error}"));
    }
    let names = ["one", "two", "three"];
    let targets = [".git".to_owned(), field.workspace(".git").display().to_string(), "one".to_owned()];
    for (name, target) in names.iter().zip(&targets) {
        if let Err(error) = symlink(target, field.workspace(name)) {
            return Answer::Broken(format!("cannot make an ordinary link: {error}"));
        }
    }
    Answer::all(
        field,
        names.map(|name| {
            let made = std::fs::write(field.workspace(name), "gitdir: /tmp");
            let _ = std::fs::remove_file(field.workspace(".git"));
            Answer::of(name, made, DENIED)
        }),
    )
}
