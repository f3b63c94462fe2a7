//! git that finds a broken `.git` takes the directory itself for a repository if it looks like one, and obeys the
//! `config` in it.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::attacks::host_git;
use crate::field::Field;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T020a",
    name: "a_workspace_does_not_become_a_bare_repository",
    holds: "`git status` on the host does not obey a config that the command put into the workspace itself",
    bait: host_git::bait,
    attempt,
    decides: Decides::JudgeAlone,
    judge: host_git::judge,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let ws = field.workspace("");
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = \"{}; false\"\n",
        host_git::touch(field)
    );
    let made = fs::remove_file(ws.join(".git/HEAD"))
        .and_then(|()| fs::write(ws.join("HEAD"), "ref: refs/heads/main\n"))
        .and_then(|()| fs::create_dir_all(ws.join("objects")))
        .and_then(|()| fs::create_dir_all(ws.join("refs")))
        .and_then(|()| fs::write(ws.join("config"), config));
    match made {
        Ok(()) => host_git::look(field),
        Err(error) => Answer::Blocked(error.to_string()),
    }
}
