//! The control is the root of a user namespace.

use crate::answer::{Answer, NO_CALL};
use crate::attack::{Attack, Control};
use crate::field::Field;
use std::fs::File;
use std::os::fd::AsFd;

pub(crate) const ATTACK: Attack = Attack {
    id: "T036b",
    name: "no_namespace_can_be_entered",
    holds: "setns does not work, not even into the own namespaces",
    control: Control::NamespaceRoot,
    attempt: |field: &Field| {
        Answer::all(
            field,
            ["mnt", "user"].into_iter().take(1).map(|name| {
                let entered =
                    File::open(format!("/proc/self/ns/{name}")).and_then(|ns| polder_sys::attempt::setns(ns.as_fd()));
                Answer::of(name, entered, NO_CALL)
            }),
        )
    },
    ..Attack::PLAIN
};
