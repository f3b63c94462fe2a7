//! With arguments that every kernel since 5.6 refuses with another error than ENOSYS.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::errno_of;

const CALLS: [(&str, i64); 6] = [
    ("clone3", libc::SYS_clone3),
    ("openat2", libc::SYS_openat2),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("io_uring_register", libc::SYS_io_uring_register),
    ("fanotify_mark", libc::SYS_fanotify_mark),
];

pub(crate) const ATTACK: Attack = Attack {
    id: "T201c",
    name: "unlisted_calls_do_not_exist",
    holds: "a system call that is not on the list does not exist",
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    Answer::all(
        field,
        CALLS.map(|(name, number)| match errno_of(number, [u64::MAX, 0, 0, 0]) {
            libc::ENOSYS => Answer::Blocked(name.to_owned()),
            errno => Answer::Reached(format!("{name}: errno {errno}")),
        }),
    )
}
