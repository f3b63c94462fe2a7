//! `read_only` against every ordinary change.

use crate::answer::{Answer, READ_ONLY};
use crate::attack::Attack;
use crate::field::Field;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::symlink;

pub(crate) const ATTACK: Attack = Attack {
    id: "T015d",
    name: "a_read_only_workspace_cannot_be_changed",
    holds: "in a read-only workspace nothing can be made, changed, renamed or removed",
    bait: |stage| {
        stage.file("ws/file", "old")?;
        stage.file("ws/other", "old")?;
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.read_only(),
    attempt,
    judge: |stage, _| {
        stage.must_say("ws/file", "old")?;
        stage.must_say("ws/other", "old")?;
        stage.must_not_exist("ws/new")
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let (file, new) = (field.workspace("file"), field.workspace("new"));
    Answer::all(
        field,
        [
            Answer::of("create", fs::write(&new, "x"), READ_ONLY),
            Answer::of("append", OpenOptions::new().append(true).open(&file), READ_ONLY),
            Answer::of("mkdir", fs::create_dir(field.workspace("dir")), READ_ONLY),
            Answer::of("symlink", symlink("x", field.workspace("link")), READ_ONLY),
            Answer::of("hard link", fs::hard_link(&file, field.workspace("name")), READ_ONLY),
            Answer::of("rename", fs::rename(&file, &new), READ_ONLY),
            Answer::of("remove", fs::remove_file(field.workspace("other")), READ_ONLY),
        ],
    )
}
