//! Two hundred open files where sixty-four are allowed; raising the limit must not work either.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::fs::File;

const WANTED: usize = 200;
const RLIMIT_NOFILE: u32 = 7;

pub(crate) const ATTACK: Attack = Attack {
    id: "T040g",
    name: "open_files_are_bounded",
    holds: "a process cannot have more files open than allowed, and cannot raise the limit",
    sandbox: |_, sandbox| sandbox.files("64"),
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if !field.is_control() && polder_sys::attempt::raise_own(RLIMIT_NOFILE, 1024).is_ok() {
        return Answer::Reached("the limit was raised".to_owned());
    }
    let mut files = Vec::new();
    for number in 0..WANTED {
        match File::open("/dev/null") {
            Ok(file) => files.push(file),
            Err(error) => return Answer::of_error(&format!("{number} files"), &error, &[libc::EMFILE]),
        }
    }
    Answer::Reached(format!("{WANTED} files"))
}
