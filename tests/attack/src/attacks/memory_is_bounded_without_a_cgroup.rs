//! Where the user goes on without a bound of all processes together, each one is bounded.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::field::Field;
use polder::Guarantee;

const WANTED: usize = 192 << 20;

pub(crate) const ATTACK: Attack = Attack {
    id: "T211",
    name: "memory_is_bounded_without_a_cgroup",
    holds: "a process cannot use more memory than allowed where no cgroup holds the limit",
    sandbox: |_, sandbox| sandbox.memory("64M").accept(Guarantee::Memory),
    attempt: |_: &Field| Answer::of("192 MiB", polder_sys::attempt::use_memory(WANTED), &[libc::ENOMEM]),
    // Where there is a cgroup all the same, it ends the attempt.
    decides: Decides::JudgeAlone,
    judge: |_, finished| match Answer::from_output(&finished.stdout) {
        Some(Answer::Reached(detail)) => Err(detail),
        _ => Ok(()),
    },
    ..Attack::PLAIN
};
