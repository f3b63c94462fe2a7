//! Who cleans up must not be at the mercy of the command: a CPU limit on it is a kill.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::field::Field;
use std::time::{Duration, Instant};

const RLIMIT_CPU: u32 = 0;

pub(crate) const ATTACK: Attack = Attack {
    id: "T019d",
    name: "a_git_redirect_is_gone_when_the_shim_is_ended",
    holds: "a redirect is gone although the command tries to end the one who removes it",
    bait: |stage| Ok(stage.repository()?),
    sandbox: |_, sandbox| sandbox.timeout("20s"),
    attempt,
    decides: Decides::JudgeAlone,
    judge: |stage, _| {
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
    if !field.is_control() && polder_sys::attempt::limit_other(1, RLIMIT_CPU, 1).is_ok() {
        // A long path costs the observer, which resolves it in the shim.
        let long = field.workspace("").join("./".repeat(1900)).join("dir");
        let until = Instant::now() + Duration::from_secs(30);
        while Instant::now() < until {
            let _ = std::fs::create_dir(&long);
            let _ = std::fs::remove_dir(field.workspace("dir"));
        }
        return Answer::Broken("the first process took the limit and lives on".to_owned());
    }
    Answer::Reached("the redirect is written".to_owned())
}
