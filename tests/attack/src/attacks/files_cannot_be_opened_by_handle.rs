//! The call by which a container once read the host's shadow file (shocker.c); needs rights that only root has.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T010c",
    name: "files_cannot_be_opened_by_handle",
    holds: "no file can be opened by its handle",
    bait: |stage| {
        stage.file("ws/file", "x")?;
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    Answer::of("open_by_handle_at", polder_sys::attempt::open_by_handle(&field.workspace("file")), NO_CALL)
}
