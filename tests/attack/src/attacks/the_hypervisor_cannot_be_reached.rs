//! AF_VSOCK leads out of the machine.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::attacks::families::NO_FAMILY;

pub(crate) const ATTACK: Attack = Attack {
    id: "T049a",
    name: "the_hypervisor_cannot_be_reached",
    holds: "no vsock can be made",
    attempt: |_| {
        let made = polder_sys::attempt::socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0);
        Answer::of("AF_VSOCK", made, NO_FAMILY)
    },
    ..Attack::PLAIN
};
