//! A process that ended and was not collected still has a number.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::zombies;

const WANTED: usize = 60;

pub(crate) const ATTACK: Attack = Attack {
    id: "T040c",
    name: "zombies_are_bounded",
    holds: "ended processes that nobody collects count against the limit, too",
    sandbox: |_, sandbox| sandbox.pids("20"),
    attempt: |_: &Field| match zombies(WANTED) {
        (made, None) => Answer::Reached(format!("{made} zombies")),
        (made, Some(error)) if error.raw_os_error() == Some(libc::EAGAIN) => {
            Answer::Blocked(format!("{made} zombies, then {error}"))
        }
        (made, Some(error)) => Answer::Broken(format!("{made} zombies, then {error}")),
    },
    ..Attack::PLAIN
};
