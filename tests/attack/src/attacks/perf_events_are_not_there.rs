//! A large interface with a long list of holes.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;

pub(crate) const ATTACK: Attack = Attack {
    id: "T047b",
    name: "perf_events_are_not_there",
    holds: "perf events cannot be opened",
    attempt: |_| Answer::of("perf_event_open", polder_sys::attempt::perf_event(), NO_CALL),
    ..Attack::PLAIN
};
