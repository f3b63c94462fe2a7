//! It holds addresses and names of devices.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;

pub(crate) const ATTACK: Attack = Attack {
    id: "T047f",
    name: "the_kernels_log_is_not_there",
    holds: "the kernel's log cannot be read",
    attempt: |_| Answer::of("syslog", polder_sys::attempt::kernel_log(), NO_CALL),
    ..Attack::PLAIN
};
