//! AF_ALG is a large interface that nothing needs.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::attacks::families::NO_FAMILY;

pub(crate) const ATTACK: Attack = Attack {
    id: "T049b",
    name: "the_kernels_ciphers_cannot_be_reached",
    holds: "no socket to the kernel's ciphers can be made",
    attempt: |_| {
        let made = polder_sys::attempt::socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0);
        Answer::of("AF_ALG", made, NO_FAMILY)
    },
    ..Attack::PLAIN
};
