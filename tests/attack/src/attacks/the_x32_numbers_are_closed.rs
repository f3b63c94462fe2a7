//! The same calls under other numbers, where the kernel was built with them.

use crate::answer::Answer;
use crate::attack::Attack;

pub(crate) const ATTACK: Attack = Attack {
    id: "T045b",
    name: "the_x32_numbers_are_closed",
    holds: "no system call can be made by its x32 number",
    attempt: |_| {
        let called = polder_sys::attempt::x32_getpid();
        Answer::of("x32 getpid", called, &[libc::ENOSYS, libc::EPERM])
    },
    ..Attack::PLAIN
};
