//! Unmounting a protection, or clearing its read-only flag. The control does so to its own.

use crate::answer::{Answer, NO_CALL};
use crate::attack::{Attack, Control};
use crate::field::Field;
use polder_sys::attempt::{bind_read_only, clear_read_only, remount_writable, unmount};

pub(crate) const ATTACK: Attack = Attack {
    id: "T037b",
    name: "masks_cannot_be_lifted",
    holds: "a protected path cannot be unmounted or made writable again",
    bait: |stage| Ok(stage.repository()?),
    control: Control::NamespaceRoot,
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let hooks = field.workspace(".git/hooks");
    if field.is_control()
        && let Err(error) = bind_read_only(&hooks)
    {
        return Answer::Lacking(format!("the control cannot make its own mask: {error}"));
    }
    Answer::all(
        field,
        [
            Answer::of("remount", remount_writable(&hooks), NO_CALL),
            Answer::of("mount_setattr", clear_read_only(&hooks), NO_CALL),
            Answer::of("umount2", unmount(&hooks), NO_CALL),
        ],
    )
}
