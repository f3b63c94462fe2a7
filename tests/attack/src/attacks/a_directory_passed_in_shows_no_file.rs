//! A directory handle from the host, to read a file below it.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::attacks::passed_directory::{hand_out, open, take};
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T208b",
    name: "a_directory_passed_in_shows_no_file",
    holds: "a directory handle from the host does not let the command read a file below it",
    bait: |stage| hand_out(stage),
    attempt: |field: &Field| match take(field) {
        Ok(passed) => open(&passed, "read", ".ssh/id", libc::O_RDONLY),
        Err(error) => Answer::Broken(format!("nothing was passed: {error}")),
    },
    ..Attack::PLAIN
};
