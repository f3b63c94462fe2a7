//! The log holds addresses and names; `/proc/kcore` is the memory itself, where a kernel has it.

use crate::answer::{Answer, HIDDEN};
use crate::attack::Attack;
use std::fs::File;

pub(crate) const ATTACK: Attack = Attack {
    id: "T013d",
    name: "kernel_memory_is_not_readable",
    holds: "the kernel's memory and its log are not readable",
    attempt: |field| {
        let open = |path: &str| Answer::of(path, File::open(path), HIDDEN);
        Answer::all(field, ["/dev/kmsg"].map(open))
    },
    ..Attack::PLAIN
};
