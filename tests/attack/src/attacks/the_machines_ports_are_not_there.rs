//! Direct access to devices.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;

pub(crate) const ATTACK: Attack = Attack {
    id: "T047g",
    name: "the_machines_ports_are_not_there",
    holds: "no access to input and output ports can be had",
    attempt: |_| Answer::of("iopl", polder_sys::attempt::ports(), NO_CALL),
    ..Attack::PLAIN
};
