//! A host program may listen in the tree itself: git's fsmonitor daemon does, databases and editors do.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::attacks::sockets;
use crate::field::Field;
use std::os::unix::net::UnixStream;

pub(crate) const ATTACK: Attack = Attack {
    id: "T051c",
    name: "sockets_in_the_workspace_are_out_of_reach",
    holds: "a host program that listens on a socket in the workspace cannot be reached",
    bait: |stage| sockets::listener(stage, "ws/daemon.ipc"),
    attempt: |field: &Field| {
        let reached = UnixStream::connect(field.workspace("daemon.ipc"));
        Answer::of("connect", reached, &[libc::EACCES, libc::EPERM, libc::ECONNREFUSED, libc::ENOENT])
    },
    ..Attack::PLAIN
};
