//! kcmp tells what processes share, which is a leak of the kernel's addresses.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;

pub(crate) const ATTACK: Attack = Attack {
    id: "T034f",
    name: "processes_cannot_be_compared",
    holds: "kcmp cannot be used",
    attempt: |_| {
        let own = std::process::id();
        Answer::of("kcmp", polder_sys::attempt::compare(own, own), NO_CALL)
    },
    ..Attack::PLAIN
};
