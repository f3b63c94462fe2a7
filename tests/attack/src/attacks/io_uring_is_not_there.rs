//! It makes calls that no filter sees.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;

pub(crate) const ATTACK: Attack = Attack {
    id: "T046",
    name: "io_uring_is_not_there",
    holds: "no io_uring can be made",
    attempt: |_| Answer::of("io_uring_setup", polder_sys::attempt::io_uring(), NO_CALL),
    ..Attack::PLAIN
};
