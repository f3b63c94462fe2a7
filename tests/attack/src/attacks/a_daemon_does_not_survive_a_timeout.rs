//! Two forks, a session of its own, deaf to every request to end.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::attacks::beat;
use crate::field::Field;
use polder::Ending;
use std::time::Duration;

pub(crate) const ATTACK: Attack = Attack {
    id: "T039a",
    name: "a_daemon_does_not_survive_a_timeout",
    holds: "a detached grandchild that ignores every signal ends with the run's timeout",
    sandbox: |_, sandbox| sandbox.timeout("700ms"),
    attempt,
    decides: Decides::JudgeAlone,
    judge: |stage, finished| {
        if finished.outcome.ending != Ending::TimedOut {
            return Err(format!("it did not time out: {:?}", finished.outcome.ending));
        }
        beat::is_over(stage)
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let answer = beat::start(field);
    if !field.is_control() {
        std::thread::sleep(Duration::from_secs(20));
    }
    answer
}
