//! A mount over a mask, or over what programs trust. The control is the root of a user namespace.

use crate::answer::{Answer, NO_CALL};
use crate::attack::{Attack, Control};
use crate::field::Field;
use polder_sys::attempt::{mount_tmpfs, new_tmpfs, open_tree};

pub(crate) const ATTACK: Attack = Attack {
    id: "T037a",
    name: "nothing_can_be_mounted",
    holds: "nothing can be mounted, by the old calls or the new ones",
    control: Control::NamespaceRoot,
    attempt: |field: &Field| {
        let workspace = field.workspace("");
        Answer::all(
            field,
            [
                Answer::of("mount", mount_tmpfs(&workspace), NO_CALL),
                Answer::of("fsopen", new_tmpfs(), NO_CALL),
                Answer::of("open_tree", open_tree(&workspace), NO_CALL),
            ],
        )
    },
    ..Attack::PLAIN
};
