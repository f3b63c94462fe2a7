//! `.git/commondir` leads git to another repository, with another config; it is removed when the run ends.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T019a",
    name: "a_git_redirect_is_gone_after_the_run",
    holds: "a redirect that was put into the repository is gone when the command has ended",
    bait: |stage| Ok(stage.repository()?),
    attempt,
    decides: Decides::JudgeAlone,
    judge: |stage, finished| {
        if finished.outcome.exit_code() != 0 {
            return Err(format!("no answer from inside: {:?}", finished.outcome.ending));
        }
        stage.must_not_exist("ws/.git/commondir")?;
        stage.must_not_exist("ws/.git/config.worktree")
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let write = |name: &str| std::fs::write(field.workspace(".git").join(name), "/workspace/evil");
    match write("commondir").and_then(|()| write("config.worktree")) {
        Ok(()) => Answer::Reached("both redirects are written".to_owned()),
        Err(error) => Answer::Broken(error.to_string()),
    }
}
