//! The same when the run is ended from outside, where nobody inside is left to clean up.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::field::Field;
use polder::Ending;
use std::time::Duration;

pub(crate) const ATTACK: Attack = Attack {
    id: "T019b",
    name: "a_git_redirect_is_gone_after_a_timeout",
    holds: "a redirect that was put into the repository is gone when the run was ended by its timeout",
    bait: |stage| Ok(stage.repository()?),
    sandbox: |_, sandbox| sandbox.timeout("500ms"),
    attempt,
    decides: Decides::JudgeAlone,
    judge: |stage, finished| {
        if finished.outcome.ending != Ending::TimedOut {
            return Err(format!("it did not time out: {:?}", finished.outcome.ending));
        }
        stage.must_say("ws/witness", "/workspace/evil")?;
        stage.must_not_exist("ws/.git/commondir")
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let write = |name: &str| std::fs::write(field.workspace(name), "/workspace/evil");
    if let Err(error) = write(".git/commondir").and_then(|()| write("witness")) {
        return Answer::Broken(error.to_string());
    }
    if !field.is_control() {
        std::thread::sleep(Duration::from_secs(20));
    }
    Answer::Reached("the redirect is written".to_owned())
}
