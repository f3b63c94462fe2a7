//! A `.git` file with `gitdir:` leads git to any directory.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{open, open2};

pub(crate) const ATTACK: Attack = Attack {
    id: "T018b",
    name: "a_reserved_name_cannot_be_made_as_a_file",
    holds: "a protected name that does not exist yet cannot be made as a file, by any call that opens",
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if let Err(error) = std::fs::write(field.workspace("innocent"), "gitdir: elsewhere") {
        return Answer::Broken(format!("cannot even make an ordinary file: {error}"));
    }
    let git = field.workspace(".git");
    let flags = libc::O_CREAT | libc::O_WRONLY;
    let undo = |opened: std::io::Result<std::os::fd::OwnedFd>| {
        let _ = std::fs::remove_file(&git);
        opened
    };
    Answer::all(
        field,
        [
            Answer::of("open", undo(open(&git, flags, 0o644)), NO_CALL),
            Answer::of("open exclusively", undo(open(&git, flags | libc::O_EXCL, 0o644)), NO_CALL),
            Answer::of("open without following", undo(open(&git, flags | libc::O_NOFOLLOW, 0o644)), NO_CALL),
            Answer::of("openat2", undo(open2(&git, flags, 0o644)), NO_CALL),
            Answer::of("write", std::fs::write(&git, "gitdir: /tmp"), NO_CALL),
        ],
    )
}
