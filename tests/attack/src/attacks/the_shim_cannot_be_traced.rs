//! The first process inside is outside of the filter: whoever is it, is free of the filter too. The control does the
//! same to a process of its own user.

use crate::answer::{Answer, NO_PROCESS};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{pidfd_getfd, pidfd_open, trace};
use std::os::fd::AsFd;

pub(crate) const ATTACK: Attack = Attack {
    id: "T034b",
    name: "the_shim_cannot_be_traced",
    holds: "the first process inside cannot be traced, read or robbed of a descriptor",
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
    let read = |name: &str| {
        let path = format!("/proc/{target}/{name}");
        Answer::of(&path, std::fs::read(&path), NO_PROCESS)
    };
    let robbed = pidfd_open(target).and_then(|process| pidfd_getfd(process.as_fd(), 1));
    Answer::all(
        field,
        [
            read("environ"),
            read("maps"),
            read("cmdline"),
            Answer::of("mem", std::fs::File::open(format!("/proc/{target}/mem")), NO_PROCESS),
            Answer::of("pidfd_getfd", robbed, NO_PROCESS),
            Answer::of("ptrace", trace(target), NO_PROCESS),
        ],
    )
}
