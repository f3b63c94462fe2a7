//! A careless caller has a file open that survives exec.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};

pub(crate) const ATTACK: Attack = Attack {
    id: "T003a",
    name: "inherited_descriptors_are_closed",
    holds: "a file that the caller has open without close-on-exec is not open inside",
    bait: |stage| {
        let secret = File::open(stage.file("home/secret", "secret")?)?;
        polder_sys::attempt::keep_over_exec(secret.as_fd())?;
        stage.tell("number", secret.as_raw_fd());
        stage.hold(secret);
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let number = field.number("number");
    let result = std::fs::read(format!("/proc/self/fd/{number}"));
    match result {
        Ok(text) if text == b"secret" => Answer::Reached(format!("read through descriptor {number}")),
        Ok(_) => Answer::Blocked("the number is another file's".to_owned()),
        Err(error) => Answer::of_error("read", &error, &[libc::ENOENT, libc::EACCES, libc::ENXIO]),
    }
}
