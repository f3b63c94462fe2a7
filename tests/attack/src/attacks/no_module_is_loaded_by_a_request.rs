//! Requests about bridges and VLANs make the kernel load a module before it asks for a right (net/socket.c,
//! `br_ioctl_call` and `vlan_ioctl_hook`).

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{ask_socket, socket};
use std::os::fd::AsFd;

/// The errno of a kernel whose module is not there; others mean that the kernel has looked at the request.
const NO_MODULE: &[i32] = &[libc::ENOPKG];

const REQUESTS: [(&str, u64); 6] = [
    ("SIOCGIFBR", 0x8940),
    ("SIOCSIFBR", 0x8941),
    ("SIOCGIFVLAN", 0x8982),
    ("SIOCSIFVLAN", 0x8983),
    ("SIOCBRADDBR", 0x89a0),
    ("SIOCBRDELBR", 0x89a1),
];

pub(crate) const ATTACK: Attack = Attack {
    id: "T049g",
    name: "no_module_is_loaded_by_a_request",
    holds: "no request on a socket reaches the kernel's bridges and VLANs",
    attempt: |field: &Field| {
        let socket = match socket(libc::AF_INET, libc::SOCK_DGRAM, 0) {
            Ok(socket) => socket,
            Err(error) => return Answer::Broken(error.to_string()),
        };
        let tried = REQUESTS.map(|(name, request)| match ask_socket(socket.as_fd(), request) {
            Err(error) if error.raw_os_error().is_some_and(|errno| NO_MODULE.contains(&errno)) => {
                Answer::Blocked(format!("{name}: {error}"))
            }
            answer => Answer::Reached(format!("{name}: {answer:?}")),
        });
        if field.is_control() {
            // One that works is enough: what this kernel was built without shows nothing.
            let works = |answer: &&Answer| matches!(answer, Answer::Reached(_));
            return tried.iter().find(works).unwrap_or(&tried[0]).clone();
        }
        Answer::all(field, tried)
    },
    ..Attack::PLAIN
};
