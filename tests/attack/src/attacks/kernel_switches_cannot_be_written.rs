//! A core pattern with a pipe runs as root outside of every sandbox; this is how a bwrap started by root fails.

use crate::answer::{Answer, READ_ONLY};
use crate::attack::Attack;
use std::fs::OpenOptions;

pub(crate) const ATTACK: Attack = Attack {
    id: "T013e",
    name: "kernel_switches_cannot_be_written",
    holds: "the kernel's switches in /proc cannot be opened for writing",
    attempt: |field| {
        let open = |path: &str| Answer::of(path, OpenOptions::new().write(true).open(path), READ_ONLY);
        let paths = ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches"];
        Answer::all(field, paths.map(open))
    },
    ..Attack::PLAIN
};
