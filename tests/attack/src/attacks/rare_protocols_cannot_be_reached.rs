//! Protocols beside TCP and UDP are modules that the kernel loads when a socket of theirs is asked for.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::attacks::families::NO_FAMILY;
use crate::field::Field;
use polder_sys::attempt::socket_raw;

const STREAM: u64 = libc::SOCK_STREAM as u64;
const DGRAM: u64 = libc::SOCK_DGRAM as u64;
const SEQPACKET: u64 = libc::SOCK_SEQPACKET as u64;
const DCCP: u64 = 6;
const RAW: u64 = libc::SOCK_RAW as u64;

const PROTOCOLS: [(&str, u64, u64); 11] = [
    ("UDP-Lite", DGRAM, 136),
    ("UDP-Lite with flags", DGRAM | (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as u64, 136),
    ("UDP-Lite with upper bits", DGRAM | 1 << 32, 136 | 1 << 40),
    ("SCTP", STREAM, 132),
    ("SCTP, many to one", SEQPACKET, 132),
    ("SCTP by default", SEQPACKET, 0),
    ("DCCP", DCCP, 33),
    ("L2TP", DGRAM, 115),
    ("SMC", STREAM, 256),
    ("raw", RAW, 255),
    ("raw ICMP", RAW, 1),
];

pub(crate) const ATTACK: Attack = Attack {
    id: "T049f",
    name: "rare_protocols_cannot_be_reached",
    holds: "no internet socket but those of TCP, UDP and their kind can be made",
    attempt: |field: &Field| {
        let tried = [libc::AF_INET as u64, libc::AF_INET6 as u64 | 1 << 32].into_iter().flat_map(|family| {
            PROTOCOLS.map(|(name, kind, protocol)| Answer::of(name, socket_raw(family, kind, protocol), NO_FAMILY))
        });
        let tried: Vec<Answer> = tried.collect();
        if field.is_control() {
            // One that works is enough: a protocol that this kernel was built without shows nothing.
            let works = |answer: &&Answer| matches!(answer, Answer::Reached(_));
            return tried.iter().find(works).unwrap_or(&tried[0]).clone();
        }
        let ordinary = [(STREAM, 0), (STREAM, 6), (DGRAM | libc::SOCK_CLOEXEC as u64, 17), (DGRAM, 0)];
        for (kind, protocol) in ordinary {
            if let Err(error) = socket_raw(libc::AF_INET as u64, kind, protocol) {
                return Answer::Broken(format!("not even an ordinary socket ({kind}, {protocol}): {error}"));
            }
        }
        Answer::all(field, tried)
    },
    ..Attack::PLAIN
};
