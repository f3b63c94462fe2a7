//! `git status` looks into submodules and obeys their config. A submodule is an index entry and a directory with a
//! `.git` in it: both can be made in a workspace that is writable. The built-in policy says so (SECURITY.md, "nested
//! repositories"); a policy that protects `**/.git` forbids it.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::attacks::host_git::{self, git};
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T019e",
    name: "a_nested_repository_does_not_run_on_the_host",
    holds: "where `**/.git` is protected, `git status` on the host runs nothing that the command put into a nested one",
    bait: |stage| {
        let policy = "sandboxes: {strict: {protect: [\"**/.git\"]}}\nsandbox: strict\n";
        std::fs::write(stage.root.join("strict.yaml"), policy)?;
        host_git::bait(stage)
    },
    sandbox: |stage, sandbox| sandbox.with_configuration_file(stage.root.join("strict.yaml")),
    attempt,
    decides: Decides::JudgeAlone,
    judge: host_git::judge,
    ..Attack::PLAIN
};

pub(super) fn attempt(field: &Field) -> Answer {
    let ws = field.workspace("");
    let sub = ws.join("sub");
    let monitor = format!("core.fsmonitor={}; false", host_git::touch(field));
    let (key, value) = monitor.split_once('=').unwrap_or_default();
    let steps: [(&std::path::Path, &[&str]); 5] = [
        (&ws, &["init", "-q", "sub"]),
        (&sub, &["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"]),
        (&ws, &["-c", "protocol.file.allow=always", "add", "sub"]),
        (&sub, &["config", key, value]),
        (&ws, &["ls-files", "-s"]),
    ];
    for (dir, arguments) in steps {
        if let Err(error) = git(field, dir, arguments) {
            return Answer::Blocked(format!("git {}: {error}", arguments.join(" ")));
        }
    }
    host_git::look(field)
}
