//! Every ordinary way to change a file that is there.

use crate::answer::{Answer, PINNED};
use crate::attack::Attack;
use crate::field::Field;
use crate::stage::GIT_CONFIG;
use std::fs::{self, OpenOptions};
use std::path::Path;

pub(crate) const ATTACK: Attack = Attack {
    id: "T007b",
    name: "a_protected_file_cannot_be_changed_or_replaced",
    holds: "a protected file cannot be written, emptied, removed, replaced or given other rights",
    bait: |stage| {
        stage.file("ws/kept", "kept")?;
        stage.file("protect.yaml", "sandboxes: {a: {protect: [kept, .git/hooks, .git/config]}}\nsandbox: a\n")?;
        Ok(stage.repository()?)
    },
    sandbox: |stage, sandbox| sandbox.with_configuration_file(stage.root.join("protect.yaml")),
    attempt,
    judge: |stage, _| {
        stage.must_say("ws/kept", "kept")?;
        // Inside it is a private copy, of which polder takes nothing over that is not git's data.
        stage.must_say("ws/.git/config", GIT_CONFIG)?;
        stage.must_not_exist("ws/.git/hooks/pre-commit")
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let kept = field.workspace("kept");
    let config = field.workspace(".git/config");
    let copied = fs::write(&config, "[core]\n\tfsmonitor = ./evil\n");
    if let Err(error) = copied
        && !field.is_control()
        && !PINNED.contains(&error.raw_os_error().unwrap_or_default())
    {
        return Answer::Broken(format!("writing the configuration failed for another reason: {error}"));
    }
    let new = field.workspace("new");
    if let Err(error) = fs::write(&new, "[core]\n") {
        return Answer::Broken(format!("cannot even write an ordinary file: {error}"));
    }
    let hook = field.workspace(".git/hooks/pre-commit");
    let empty = |path: &Path| OpenOptions::new().write(true).truncate(true).open(path);
    Answer::all(
        field,
        [
            Answer::of("append", OpenOptions::new().append(true).open(&kept), PINNED),
            Answer::of("truncate", empty(&kept), PINNED),
            Answer::of("rename over", fs::rename(&new, &kept), PINNED),
            Answer::of("chmod", polder_sys::attempt::chmod(&kept, 0o777), PINNED),
            Answer::of("remove", fs::remove_file(&kept), PINNED),
            Answer::of("new hook", fs::write(&hook, "#!/bin/sh\n"), PINNED),
            Answer::of("remove hooks", fs::remove_dir_all(field.workspace(".git/hooks")), PINNED),
        ],
    )
}
