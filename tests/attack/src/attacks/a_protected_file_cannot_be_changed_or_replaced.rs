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
    bait: |stage| Ok(stage.repository()?),
    attempt,
    judge: |stage, _| {
        stage.must_say("ws/.git/config", GIT_CONFIG)?;
        stage.must_not_exist("ws/.git/hooks/pre-commit")
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let config = field.workspace(".git/config");
    let new = field.workspace("new");
    if let Err(error) = fs::write(&new, "[core]\n") {
        return Answer::Broken(format!("cannot even write an ordinary file: {error}"));
    }
    let hook = field.workspace(".git/hooks/pre-commit");
    let empty = |path: &Path| OpenOptions::new().write(true).truncate(true).open(path);
    Answer::all(
        field,
        [
            Answer::of("append", OpenOptions::new().append(true).open(&config), PINNED),
            Answer::of("truncate", empty(&config), PINNED),
            Answer::of("rename over", fs::rename(&new, &config), PINNED),
            Answer::of("chmod", polder_sys::attempt::chmod(&config, 0o777), PINNED),
            Answer::of("remove", fs::remove_file(&config), PINNED),
            Answer::of("new hook", fs::write(&hook, "#!/bin/sh\n"), PINNED),
            Answer::of("remove hooks", fs::remove_dir_all(field.workspace(".git/hooks")), PINNED),
        ],
    )
}
