//! 192 MiB where 64 are allowed.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::field::Field;
use polder::{Ending, LimitKind};

const WANTED: usize = 192 << 20;

pub(crate) const ATTACK: Attack = Attack {
    id: "T040d",
    name: "a_memory_hog_is_bounded",
    holds: "more memory than allowed cannot be used, and the outcome says so",
    sandbox: |_, sandbox| sandbox.memory("64M"),
    attempt: |_: &Field| match polder_sys::attempt::use_memory(WANTED) {
        Ok(()) => Answer::Reached("192 MiB were used".to_owned()),
        Err(error) => Answer::Blocked(error.to_string()),
    },
    decides: Decides::JudgeAlone,
    judge: |_, finished| {
        let (ending, limit) = (finished.outcome.ending, finished.outcome.limit);
        if Answer::from_output(&finished.stdout).is_some_and(|answer| matches!(answer, Answer::Reached(_))) {
            return Err("192 MiB were used".to_owned());
        }
        let ended = matches!(ending, Ending::Signalled(9) | Ending::LimitReached);
        if ended && limit == Some(LimitKind::Memory) { Ok(()) } else { Err(format!("{ending:?}, limit {limit:?}")) }
    },
    ..Attack::PLAIN
};
