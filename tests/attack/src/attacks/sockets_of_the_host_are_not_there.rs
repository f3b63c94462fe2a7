//! Agents, container engines and desktops listen on sockets in the home and in the runtime directory.

use crate::attack::Attack;
use crate::attacks::sockets;

pub(crate) const ATTACK: Attack = Attack {
    id: "T051a",
    name: "sockets_of_the_host_are_not_there",
    holds: "a listening socket of the host cannot be reached by its path or by a link to it",
    bait: |stage| sockets::listener(stage, "home/.agent.sock"),
    attempt: sockets::connect_path,
    ..Attack::PLAIN
};
