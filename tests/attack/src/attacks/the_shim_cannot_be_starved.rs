//! Limits and CPUs of another process of the same user can be set, unless something forbids it.

use crate::answer::{Answer, NO_PROCESS};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{limit_other, pin_other};

const RLIMIT_NOFILE: u32 = 7;

pub(crate) const ATTACK: Attack = Attack {
    id: "T034e",
    name: "the_shim_cannot_be_starved",
    holds: "the command cannot take files or CPUs from the first process inside",
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
    Answer::all(
        field,
        [
            Answer::of("prlimit", limit_other(target, RLIMIT_NOFILE, 64), NO_PROCESS),
            Answer::of("sched_setaffinity", pin_other(target), NO_PROCESS),
        ],
    )
}
