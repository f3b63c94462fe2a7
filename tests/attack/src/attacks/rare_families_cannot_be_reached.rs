//! Protocols that nobody uses and where the holes are found.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::attacks::families::NO_FAMILY;
use crate::field::Field;

const FAMILIES: [(&str, i32, i32); 9] = [
    ("AF_KEY", 15, libc::SOCK_RAW),
    ("AF_RDS", 21, libc::SOCK_SEQPACKET),
    ("AF_CAN", 29, libc::SOCK_RAW),
    ("AF_TIPC", 30, libc::SOCK_STREAM),
    ("AF_BLUETOOTH", 31, libc::SOCK_RAW),
    ("AF_NFC", 39, libc::SOCK_RAW),
    ("AF_KCM", 41, libc::SOCK_DGRAM),
    ("AF_SMC", 43, libc::SOCK_STREAM),
    ("AF_XDP", 44, libc::SOCK_RAW),
];

pub(crate) const ATTACK: Attack = Attack {
    id: "T049e",
    name: "rare_families_cannot_be_reached",
    holds: "no socket of a rare family can be made",
    attempt: |field: &Field| {
        let tried = FAMILIES
            .map(|(name, family, kind)| Answer::of(name, polder_sys::attempt::socket(family, kind, 0), NO_FAMILY));
        if field.is_control() {
            // One that works is enough: what this kernel was built without shows nothing.
            let works = |answer: &Answer| matches!(answer, Answer::Reached(_));
            return tried.iter().find(|answer| works(answer)).cloned().unwrap_or_else(|| tried[0].clone());
        }
        Answer::all(field, tried)
    },
    ..Attack::PLAIN
};
