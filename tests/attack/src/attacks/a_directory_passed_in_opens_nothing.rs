//! `polder run < DIRECTORY` gives the command a handle that no mount of the sandbox covers.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{execute_at, open_at};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::Path;

pub(crate) const ATTACK: Attack = Attack {
    id: "T208",
    name: "a_directory_as_stdin_runs_and_lists_nothing",
    holds: "a directory handle as input does not let the command list or execute what is below it",
    bait: |stage| {
        stage.file("home/.ssh/id", "secret")?;
        fs::copy("/bin/true", stage.home.join("tool"))?;
        Ok(())
    },
    input: |stage| File::open(&stage.home).map(Some),
    attempt: |field: &Field| {
        let stdin = std::io::stdin();
        let list = open_at(stdin.as_fd(), Path::new(".ssh"), libc::O_RDONLY | libc::O_DIRECTORY, 0);
        let run = execute_at(stdin.as_fd(), c"tool");
        Answer::all(field, [Answer::of("list below stdin", list, DENIED), Answer::of("execute", run, DENIED)])
    },
    ..Attack::PLAIN
};
