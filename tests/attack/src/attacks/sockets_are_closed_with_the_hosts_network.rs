//! The host's network is not the host's sockets.

use crate::attack::Attack;
use crate::attacks::sockets;

pub(crate) const ATTACK: Attack = Attack {
    id: "T051b",
    name: "sockets_are_closed_with_the_hosts_network",
    holds: "a listening socket of the host cannot be reached with the host's network either",
    bait: |stage| sockets::listener(stage, "home/.agent.sock"),
    sandbox: |_, sandbox| sandbox.network("full"),
    attempt: sockets::connect_path,
    ..Attack::PLAIN
};
