//! fanotify watches whole file systems at once.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;

pub(crate) const ATTACK: Attack = Attack {
    id: "T013b",
    name: "fanotify_is_not_there",
    holds: "fanotify cannot be used",
    attempt: |_| Answer::of("fanotify_init", polder_sys::attempt::fanotify(), NO_CALL),
    ..Attack::PLAIN
};
