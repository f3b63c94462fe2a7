//! A device node in the workspace would be the machine's disk.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T023c",
    name: "device_nodes_cannot_be_made",
    holds: "no device node can be made",
    attempt: |field: &Field| {
        let make = |kind, name: &str| polder_sys::attempt::mknod(&field.workspace(name), kind | 0o666, 0x0103);
        Answer::all(
            field,
            [
                Answer::of("character device", make(libc::S_IFCHR, "null"), DENIED),
                Answer::of("block device", make(libc::S_IFBLK, "disk"), DENIED),
            ],
        )
    },
    ..Attack::PLAIN
};
