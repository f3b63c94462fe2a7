//! The guard of missing protected names opens files for the command. What it may open and the command may not must not
//! come out of it. The control opens the same files of a process of its own user.

use crate::answer::{Answer, NO_PROCESS};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::open;
use std::path::Path;

pub(crate) const ATTACK: Attack = Attack {
    id: "T034c",
    name: "the_guard_does_not_open_its_own_process",
    holds: "a file of the first process is not opened for the command by asking with O_CREAT",
    bait: |stage| {
        let victim = stage.victim("")?;
        stage.tell("victim", victim);
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let target = if field.is_control() { field.number("victim") } else { 1 };
    let try_open = |name: &str, flags| {
        let path = format!("/proc/{target}/{name}");
        Answer::of(&path, open(Path::new(&path), flags | libc::O_CREAT, 0o600), NO_PROCESS)
    };
    Answer::all(
        field,
        [
            try_open("mem", libc::O_RDWR),
            try_open("environ", libc::O_RDONLY),
            try_open("maps", libc::O_RDONLY),
            try_open("cmdline", libc::O_RDONLY),
        ],
    )
}
