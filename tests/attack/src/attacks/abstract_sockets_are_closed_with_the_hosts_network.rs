//! With the host's network only Landlock keeps abstract sockets away.

use crate::attack::Attack;
use crate::attacks::sockets;

pub(crate) const ATTACK: Attack = Attack {
    id: "T050d",
    name: "abstract_sockets_are_closed_with_the_hosts_network",
    holds: "an abstract socket of the host cannot be reached with the host's network either",
    bait: sockets::abstract_listener,
    sandbox: |_, sandbox| sandbox.network("full"),
    attempt: sockets::connect_abstract,
    ..Attack::PLAIN
};
