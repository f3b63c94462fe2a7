//! A signal to a host process, and one to its group.

use crate::answer::{Answer, NO_PROCESS};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{kill, pidfd_open};

pub(crate) const ATTACK: Attack = Attack {
    id: "T035a",
    name: "host_processes_cannot_be_signalled",
    holds: "no host process can be signalled or held by a handle",
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
    Answer::all(
        field,
        [
            Answer::of("pidfd_open", pidfd_open(victim), NO_PROCESS),
            Answer::of("kill", kill(victim as i32, libc::SIGKILL), NO_PROCESS),
        ],
    )
}
