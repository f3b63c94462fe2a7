//! SIGKILL gives polder no time to clean up.

use crate::attack::{Attack, Decides};
use crate::attacks::{beat, launcher};

pub(crate) const ATTACK: Attack = Attack {
    id: "T077a",
    name: "a_killed_polder_takes_the_sandbox_along",
    holds: "nothing inside lives on when polder is killed",
    attempt: |field| {
        let answer = beat::start(field);
        launcher::linger(field);
        answer
    },
    run: launcher::run_and_kill,
    decides: Decides::JudgeAlone,
    judge: |stage, _| beat::is_over(stage),
    ..Attack::PLAIN
};
