//! A handle of a file works from every mount of its file system, past every view.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T010b",
    name: "files_cannot_be_named_by_handle",
    holds: "no file handle can be made",
    bait: |stage| {
        stage.file("ws/file", "x")?;
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    Answer::of("name_to_handle_at", polder_sys::attempt::name_to_handle(&field.workspace("file")), NO_CALL)
}
