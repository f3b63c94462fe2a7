//! Packet and raw sockets see what others send. The control is the root of a user namespace with its own network.

use crate::answer::Answer;
use crate::attack::{Attack, Control};
use crate::attacks::families::NO_FAMILY;
use crate::field::Field;
use polder_sys::attempt::{socket, unshare};

pub(crate) const ATTACK: Attack = Attack {
    id: "T049c",
    name: "packets_cannot_be_sniffed",
    holds: "no packet socket and no raw socket can be made",
    control: Control::NamespaceRoot,
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if field.is_control()
        && let Err(error) = unshare(libc::CLONE_NEWNET)
    {
        return Answer::Lacking(error.to_string());
    }
    Answer::all(
        field,
        [
            Answer::of("AF_PACKET", socket(libc::AF_PACKET, libc::SOCK_RAW, 0), NO_FAMILY),
            Answer::of("SOCK_RAW", socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP), NO_FAMILY),
        ],
    )
}
