//! The directory can be named by a descriptor instead of a path.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{mkdir_at, open_at};
use std::os::fd::AsFd;
use std::path::Path;

pub(crate) const ATTACK: Attack = Attack {
    id: "T018f",
    name: "a_reserved_name_cannot_be_made_through_a_descriptor",
    holds: "a protected name that does not exist yet cannot be made below a directory descriptor",
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if let Err(error) = std::fs::write(field.workspace("innocent"), "gitdir: elsewhere") {
        return Answer::Broken(format!("cannot even make an ordinary file: {error}"));
    }
    let dir = match std::fs::File::open(field.workspace("")) {
        Ok(dir) => dir,
        Err(error) => return Answer::Broken(error.to_string()),
    };
    let (git, flags) = (Path::new(".git"), libc::O_CREAT | libc::O_WRONLY);
    let opened = open_at(dir.as_fd(), git, flags, 0o644);
    let _ = std::fs::remove_file(field.workspace(".git"));
    Answer::all(
        field,
        [
            Answer::of("openat", opened, DENIED),
            Answer::of("mkdirat", mkdir_at(dir.as_fd(), git), DENIED),
            Answer::of(
                "mkdirat with dots",
                mkdir_at(dir.as_fd(), Path::new("./.git/../.git/")),
                &[libc::EPERM, libc::EACCES, libc::ENOENT, libc::EEXIST],
            ),
        ]
        .into_iter()
        .take(if field.is_control() { 2 } else { 3 }),
    )
}
