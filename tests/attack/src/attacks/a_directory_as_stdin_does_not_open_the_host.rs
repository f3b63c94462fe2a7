//! `polder run < .` gives the command a handle on a directory.

use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Refusal};
use crate::field::Field;
use polder_sys::attempt::chmod_at;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

pub(crate) const ATTACK: Attack = Attack {
    id: "T003d",
    name: "a_directory_as_stdin_does_not_open_the_host",
    holds: "a directory handle as input does not let the command reach anything from it",
    bait: |stage| {
        stage.file("home/.ssh/id", "secret")?;
        Ok(())
    },
    input: |stage| File::open(&stage.home).map(Some),
    attempt,
    judge: |stage, _| stage.must_not_exist("home/canary"),
    refusal: Refusal::Holds,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let stdin = std::io::stdin();
    let open = |name: &str, flags| polder_sys::attempt::open_at(stdin.as_fd(), Path::new(name), flags, 0o600);
    Answer::all(
        field,
        [
            Answer::of("read below stdin", open(".ssh/id", libc::O_RDONLY), DENIED),
            Answer::of("create below stdin", open("canary", libc::O_WRONLY | libc::O_CREAT), DENIED),
            Answer::of("change a mode below stdin", chmod_at(stdin.as_fd(), Path::new(".ssh/id"), 0o666), DENIED),
            Answer::of("read above stdin", open("../home/.ssh/id", libc::O_RDONLY), DENIED),
        ],
    )
}
