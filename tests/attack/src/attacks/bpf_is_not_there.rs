//! Programs in the kernel.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;

pub(crate) const ATTACK: Attack = Attack {
    id: "T047a",
    name: "bpf_is_not_there",
    holds: "bpf cannot be used",
    attempt: |_| Answer::of("bpf", polder_sys::attempt::bpf(), NO_CALL),
    ..Attack::PLAIN
};
