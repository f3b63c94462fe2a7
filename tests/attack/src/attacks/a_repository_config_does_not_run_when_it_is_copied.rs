//! A repository that came from elsewhere, with a config that is commands: a worktree of it is made on the host.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::attacks::host_git::{self, git_in};
use crate::field::Field;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T020c",
    name: "a_repository_config_does_not_run_when_it_is_copied",
    holds: "making a worktree of a hostile repository runs no command of its config, filters, hooks or includes",
    bait: |stage| {
        host_git::bait(stage)?;
        let command = format!("touch {}", stage.word("canary"));
        stage.file("ws/file", "content")?;
        let git = |arguments: &[&str]| git_in(&stage.home, &stage.workspace, arguments);
        git(&["add", "file"])?;
        git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"])?;
        stage.file("ws/.git/more", &format!("[core]\n\tfsmonitor = \"{command}; false\"\n"))?;
        for (key, value) in [("filter.f.clean", "; cat"), ("filter.f.smudge", "; cat"), ("core.fsmonitor", "; false")] {
            git(&["config", key, &format!("{command}{value}")])?;
        }
        git(&["config", "filter.f.required", "true"])?;
        git(&["config", "include.path", "more"])?;
        stage.file("ws/.gitattributes", "* filter=f\n")?;
        for hook in ["post-checkout", "post-index-change", "reference-transaction"] {
            let hook = stage.file(&format!("ws/.git/hooks/{hook}"), &format!("#!/bin/sh\n{command}\n"))?;
            polder_sys::attempt::chmod(&hook, 0o755)?;
        }
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.untracked(),
    attempt,
    decides: Decides::JudgeAlone,
    // The host looks before it uses git itself: that would run everything.
    judge: |stage, finished| {
        if finished.outcome.exit_code() != 0 {
            return Err(format!("no answer from inside: {:?}", finished.outcome.ending));
        }
        stage.must_not_exist("canary")
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    match fs::read_to_string(field.workspace("file")) {
        Ok(text) if text == "content" => host_git::look(field),
        other => Answer::Broken(format!("the worktree has not what the tree has: {other:?}")),
    }
}
