//! Tracing a process is being it.

use crate::answer::{Answer, NO_PROCESS};
use crate::attack::Attack;
use crate::field::Field;
use crate::hidden::VICTIM_SECRET;
use crate::stage::{Missing, Stage};
use polder_sys::attempt::{pidfd_getfd, pidfd_open, read_memory, trace};
use std::os::fd::AsFd;

pub(crate) const ATTACK: Attack = Attack {
    id: "T034a",
    name: "host_processes_cannot_be_traced",
    holds: "no host process can be traced, read, robbed of a descriptor or opened as a memory file",
    bait,
    attempt,
    judge: |stage, _| stage.victims_live(),
    ..Attack::PLAIN
};

fn bait(stage: &mut Stage) -> Result<(), Missing> {
    let told = stage.root.join("address");
    let victim = stage.victim(&told.display().to_string())?;
    let address = std::fs::read_to_string(told)?;
    stage.tell("victim", victim);
    stage.tell("address", address);
    Ok(())
}

fn attempt(field: &Field) -> Answer {
    let victim = field.number("victim");
    let address = field.word("address").parse().unwrap_or(0);
    let read = read_memory(victim, address, VICTIM_SECRET.len()).map(|bytes| assert_eq!(bytes, VICTIM_SECRET));
    let robbed = pidfd_open(victim).and_then(|process| pidfd_getfd(process.as_fd(), 1));
    Answer::all(
        field,
        [
            Answer::of("process_vm_readv", read, NO_PROCESS),
            Answer::of("pidfd_getfd", robbed, NO_PROCESS),
            Answer::of("/proc/PID/mem", std::fs::File::open(format!("/proc/{victim}/mem")), NO_PROCESS),
            Answer::of("ptrace", trace(victim), NO_PROCESS),
        ],
    )
}
