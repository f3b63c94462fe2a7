//! A file given as input is given for reading; its link in `/proc` must not open it again with more rights.

use crate::answer::{Answer, HIDDEN};
use crate::attack::Attack;
use crate::field::Field;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};

pub(crate) const ATTACK: Attack = Attack {
    id: "T003c",
    name: "stdin_cannot_be_reopened_for_writing",
    holds: "a host file that is the command's input cannot be opened again for writing",
    bait: |stage| {
        stage.file("home/input", "input")?;
        Ok(())
    },
    input: |stage| File::open(stage.root.join("home/input")).map(Some),
    attempt,
    judge: |stage, _| stage.must_say("home/input", "input"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let write = |path: &str| {
        let mut file = OpenOptions::new().write(true).open(path)?;
        // The command has a pipe of its own in the file's place.
        if !file.metadata()?.is_file() {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        file.write_all(b"changed")
    };
    Answer::all(field, ["/proc/self/fd/0", "/dev/stdin", "/dev/fd/0"].map(|path| Answer::of(path, write(path), HIDDEN)))
}
