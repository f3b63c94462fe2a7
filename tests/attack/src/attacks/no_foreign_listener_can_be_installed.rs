//! A listener of the command's own in front of ours could let calls continue that ours would refuse.

use crate::answer::Answer;
use crate::attack::Attack;

pub(crate) const ATTACK: Attack = Attack {
    id: "T047h",
    name: "no_foreign_listener_can_be_installed",
    holds: "the command cannot install a filter with a listener",
    attempt: |_| {
        let installed = polder_sys::attempt::seccomp_listener();
        Answer::of("seccomp NEW_LISTENER", installed, &[libc::EPERM, libc::ENOSYS, libc::EBUSY])
    },
    ..Attack::PLAIN
};
