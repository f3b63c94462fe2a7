//! The same when the command ends by itself.

use crate::attack::{Attack, Decides};
use crate::attacks::beat;
use polder::Ending;

pub(crate) const ATTACK: Attack = Attack {
    id: "T039b",
    name: "a_daemon_does_not_survive_the_command",
    holds: "a detached grandchild ends when the command does",
    attempt: beat::start,
    decides: Decides::JudgeAlone,
    judge: |stage, finished| {
        if finished.outcome.ending != Ending::Exited(0) {
            return Err(format!("the command did not end well: {:?}", finished.outcome.ending));
        }
        beat::is_over(stage)
    },
    ..Attack::PLAIN
};
