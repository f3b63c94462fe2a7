//! The keys of a git config that are commands.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::attacks::host_git::{self, git};
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T020b",
    name: "a_repository_config_does_not_run_on_the_host",
    holds: "`git status` on the host runs no command that was put into the repository's config or hooks",
    bait: host_git::bait,
    attempt,
    decides: Decides::JudgeAlone,
    judge: host_git::judge,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let ws = field.workspace("");
    let value = format!("{}; false", host_git::touch(field));
    let by_git = git(field, &ws, &["config", "core.fsmonitor", &value]);
    let hook = format!("#!/bin/sh\n{}\n", host_git::touch(field));
    let by_hook = std::fs::write(ws.join(".git/hooks/post-index-change"), hook);
    let _ = polder_sys::attempt::chmod(&ws.join(".git/hooks/post-index-change"), 0o755);
    match (by_git, by_hook) {
        (Err(error), Err(_)) => Answer::Blocked(error.to_string()),
        _ => host_git::look(field),
    }
}
