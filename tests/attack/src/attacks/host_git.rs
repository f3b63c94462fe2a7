//! What the attacks by way of git share: a real repository, and a host that looks at it with git.

use crate::answer::Answer;
use crate::field::Field;
use crate::stage::{Missing, Stage};
use polder::Finished;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The file that appears when a command of the attack ran on the host.
const CANARY: &str = "canary";

/// A repository made by git itself.
pub(super) fn bait(stage: &mut Stage) -> Result<(), Missing> {
    let canary = stage.root.join(CANARY).display().to_string();
    stage.tell("canary", canary);
    let made = git_in(&stage.home, &stage.workspace, &["init", "-q", "-b", "main"]);
    made.map_err(|error| Missing::Lacking(format!("git is needed: {error}")))?;
    Ok(())
}

/// The shell command that leaves the canary.
pub(super) fn touch(field: &Field) -> String {
    format!("touch {}", field.word("canary"))
}

/// Runs git with the attempt's home.
pub(super) fn git(field: &Field, dir: &Path, arguments: &[&str]) -> io::Result<()> {
    git_in(&field.home(""), dir, arguments)
}

pub(super) fn git_in(home: &Path, dir: &Path, arguments: &[&str]) -> io::Result<()> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(dir).stdin(Stdio::null());
    let output = command.env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1").output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// What the control sees when it looks as the host would.
pub(super) fn look(field: &Field) -> Answer {
    if !field.is_control() {
        return Answer::Blocked("prepared; the host has not looked yet".to_owned());
    }
    let _ = git(field, &field.workspace(""), &["status"]);
    if field.path("canary").exists() {
        Answer::Reached("git status ran the command".to_owned())
    } else {
        Answer::Broken("git status did not run the command, so nothing would be shown".to_owned())
    }
}

/// The host looks at the workspace with git.
pub(super) fn judge(stage: &Stage, finished: &Finished) -> Result<(), String> {
    if finished.outcome.exit_code() != 0 {
        return Err(format!("no answer from inside: {:?}", finished.outcome.ending));
    }
    for arguments in [&["status"][..], &["diff"], &["add", "."]] {
        let _ = git_in(&stage.home, &stage.workspace, arguments);
        stage
            .must_not_exist(CANARY)
            .map_err(|_| format!("git {arguments:?} on the host ran a command of the sandbox"))?;
    }
    Ok(())
}
