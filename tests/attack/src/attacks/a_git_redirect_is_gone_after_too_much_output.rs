//! The same when the command has itself ended by writing too much.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::field::Field;
use polder::Ending;
use std::io::Write;

pub(crate) const ATTACK: Attack = Attack {
    id: "T019c",
    name: "a_git_redirect_is_gone_after_too_much_output",
    holds: "a redirect that was put into the repository is gone when the run was ended by a limit",
    bait: |stage| Ok(stage.repository()?),
    sandbox: |_, sandbox| sandbox.output("64K"),
    attempt,
    decides: Decides::JudgeAlone,
    judge: |stage, finished| {
        if finished.outcome.ending != Ending::LimitReached {
            return Err(format!("the limit was not reached: {:?}", finished.outcome.ending));
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
    let line = [b'x'; 4096];
    for _ in 0..64 {
        let _ = std::io::stdout().write_all(&line);
    }
    let _ = std::io::stdout().write_all(b"\n");
    Answer::Reached("the redirect is written".to_owned())
}
