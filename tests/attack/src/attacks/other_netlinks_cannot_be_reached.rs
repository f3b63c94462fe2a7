//! Netlink is more than routing: sockets of others, device events, the audit.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::attacks::families::NO_FAMILY;
use crate::field::Field;

const NETLINKS: [(&str, i32); 4] = [("sock_diag", 4), ("xfrm", 6), ("uevent", 15), ("generic", 16)];

pub(crate) const ATTACK: Attack = Attack {
    id: "T049d",
    name: "other_netlinks_cannot_be_reached",
    holds: "no netlink socket but the routing one can be made",
    attempt: |field: &Field| {
        let tried = NETLINKS
            .map(|(name, protocol)| (name, polder_sys::attempt::socket(libc::AF_NETLINK, libc::SOCK_RAW, protocol)));
        // What this kernel was built without shows nothing.
        let absent = |made: &std::io::Result<_>| {
            field.is_control()
                && made.as_ref().err().is_some_and(|e: &std::io::Error| e.raw_os_error() == Some(libc::EPROTONOSUPPORT))
        };
        let there = tried.into_iter().filter(|(_, made)| !absent(made));
        Answer::all(field, there.map(|(name, made)| Answer::of(name, made, NO_FAMILY)).collect::<Vec<_>>())
    },
    ..Attack::PLAIN
};
