//! A caller that is killed sets nothing aside: the shim does.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::attacks::{beat, launcher};
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T212",
    name: "a_git_redirect_is_gone_when_polder_is_killed",
    holds: "a redirect of git is gone when polder is killed",
    bait: |stage| Ok(stage.repository()?),
    attempt: |field: &Field| {
        if let Err(error) = std::fs::write(field.workspace(".git/commondir"), "/workspace/evil") {
            return Answer::Broken(error.to_string());
        }
        let answer = beat::start(field);
        launcher::linger(field);
        answer
    },
    run: launcher::run_and_kill,
    decides: Decides::JudgeAlone,
    judge: |stage, _| {
        beat::is_over(stage)?;
        stage.must_not_exist("ws/.git/commondir")
    },
    ..Attack::PLAIN
};
