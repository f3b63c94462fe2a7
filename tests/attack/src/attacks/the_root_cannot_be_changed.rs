//! chroot is half of the classic way out. The control is the root of a user namespace.

use crate::answer::{Answer, NO_CALL};
use crate::attack::{Attack, Control};
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T037c",
    name: "the_root_cannot_be_changed",
    holds: "chroot cannot be used",
    control: Control::NamespaceRoot,
    attempt: |field: &Field| Answer::of("chroot", polder_sys::attempt::chroot(&field.workspace("")), NO_CALL),
    ..Attack::PLAIN
};
