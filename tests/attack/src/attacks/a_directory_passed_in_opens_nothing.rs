//! A directory handle from the host, to list and to execute what is below it.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::attacks::passed_directory::{hand_out, open, take};
use crate::field::Field;
use polder_sys::attempt::execute_at;
use std::os::fd::AsFd;

pub(crate) const ATTACK: Attack = Attack {
    id: "T208",
    name: "a_directory_passed_in_opens_nothing",
    holds: "a directory handle from the host does not let the command list or execute below it",
    bait: |stage| hand_out(stage),
    attempt: |field: &Field| {
        let passed = match take(field) {
            Ok(passed) => passed,
            Err(error) => return Answer::Broken(format!("nothing was passed: {error}")),
        };
        let list = open(&passed, "list", ".ssh", libc::O_RDONLY | libc::O_DIRECTORY);
        Answer::all(field, [list, Answer::of("execute", execute_at(passed.as_fd(), c"tool"), DENIED)])
    },
    ..Attack::PLAIN
};
