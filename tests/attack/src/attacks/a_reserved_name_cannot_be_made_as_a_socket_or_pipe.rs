//! `bind` of a socket makes a name, too, and so does `mknod`.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{bind_unix, mknod};

pub(crate) const ATTACK: Attack = Attack {
    id: "T018j",
    name: "a_reserved_name_cannot_be_made_as_a_socket_or_pipe",
    holds: "a protected name that does not exist yet cannot be made as a socket or a FIFO",
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if let Err(error) = std::fs::write(field.workspace("innocent"), "gitdir: elsewhere") {
        return Answer::Broken(format!("cannot even make an ordinary file: {error}"));
    }
    let git = field.workspace(".git");
    let piped = mknod(&git, libc::S_IFIFO | 0o644, 0);
    let _ = std::fs::remove_file(&git);
    Answer::all(
        field,
        [
            Answer::of("mkfifo", piped, DENIED),
            Answer::of("bind", bind_unix(&git), &[libc::EPERM, libc::EACCES, libc::EADDRINUSE]),
        ],
    )
}
