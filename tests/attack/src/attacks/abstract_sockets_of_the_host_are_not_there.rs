//! Abstract names belong to the network; without the host's network they are not there.

use crate::attack::Attack;
use crate::attacks::sockets;

pub(crate) const ATTACK: Attack = Attack {
    id: "T050c",
    name: "abstract_sockets_of_the_host_are_not_there",
    holds: "an abstract socket of the host cannot be reached without network",
    bait: sockets::abstract_listener,
    attempt: sockets::connect_abstract,
    ..Attack::PLAIN
};
