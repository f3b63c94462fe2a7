//! It makes races in the kernel winnable.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;

pub(crate) const ATTACK: Attack = Attack {
    id: "T047c",
    name: "userfaultfd_is_not_there",
    holds: "page faults cannot be handled by the command",
    attempt: |_| Answer::of("userfaultfd", polder_sys::attempt::userfaultfd(), NO_CALL),
    ..Attack::PLAIN
};
