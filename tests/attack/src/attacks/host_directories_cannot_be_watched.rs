//! Watching tells what others do.

use crate::answer::{Answer, HIDDEN};
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T013a",
    name: "host_directories_cannot_be_watched",
    holds: "inotify cannot watch what is not in view",
    bait: |stage| {
        stage.file("home/.ssh/id", "secret")?;
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    Answer::of("inotify_add_watch", polder_sys::attempt::watch(&field.home(".ssh")), HIDDEN)
}
