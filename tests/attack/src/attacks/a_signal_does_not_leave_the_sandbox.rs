//! Signals alone: a host process that could be seen could still not be signalled.

use crate::answer::{Answer, NO_PROCESS};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{errno_of, kill};
use std::io;

pub(crate) const ATTACK: Attack = Attack {
    id: "T209",
    name: "a_signal_does_not_leave_the_sandbox",
    holds: "no signal reaches a process outside, by any call",
    bait: |stage| {
        let victim = stage.victim("")?;
        stage.tell("victim", victim);
        Ok(())
    },
    attempt,
    judge: |stage, _| stage.victims_live(),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let victim = field.number("victim");
    let threads = match errno_of(libc::SYS_tgkill, [victim.into(), victim.into(), 0, 0]) {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    };
    Answer::all(
        field,
        [Answer::of("tgkill", threads, NO_PROCESS), Answer::of("kill", kill(victim as i32, libc::SIGTERM), NO_PROCESS)],
    )
}
