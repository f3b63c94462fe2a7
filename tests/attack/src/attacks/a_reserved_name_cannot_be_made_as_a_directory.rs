//! `mkdir .git` where there is none: a repository with hooks of the command's choice.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T018a",
    name: "a_reserved_name_cannot_be_made_as_a_directory",
    holds: "a protected name that does not exist yet cannot be made as a directory",
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if let Err(error) = std::fs::write(field.workspace("innocent"), "gitdir: elsewhere") {
        return Answer::Broken(format!("cannot even make an ordinary file: {error}"));
    }
    let git = field.workspace(".git");
    let made = std::fs::create_dir(&git).and_then(|()| std::fs::create_dir(git.join("hooks")));
    Answer::of("mkdir .git .git/hooks", made, DENIED)
}
