//! The value 1 of `RLIMIT_CORE` is the one that keeps the kernel from starting a handler that is a pipe; the value 0
//! does not (core(5)). So a command must not be able to lower it.

use crate::answer::Answer;
use crate::attack::Attack;
use polder_sys::attempt::lower_core_limit;

pub(crate) const ATTACK: Attack = Attack {
    id: "T047j",
    name: "the_core_limit_cannot_be_moved",
    holds: "the limit of core files is 1 whatever the command sets it to",
    attempt: |_| match lower_core_limit() {
        Ok(1) => Answer::Blocked("still 1".to_owned()),
        Ok(other) => Answer::Reached(format!("RLIMIT_CORE is {other}")),
        Err(error) => Answer::Broken(error.to_string()),
    },
    ..Attack::PLAIN
};
