//! A file deep in a hidden directory, with a hard link beside it.

use crate::answer::{Answer, HIDDEN};
use crate::attack::{Attack, Refusal};
use crate::field::Field;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T071b",
    name: "a_hidden_directory_has_no_other_readable_name",
    holds: "a file of a directory under deny_read is not readable by a hard link in the workspace",
    bait: |stage| {
        let path = stage.file("ws/secret/deep/key", "TOKEN=secret")?;
        fs::create_dir(stage.workspace.join("backup"))?;
        fs::hard_link(path, stage.workspace.join("backup/key"))?;
        stage.file("deny.yaml", "sandboxes: {a: {deny_read: [secret]}}\nsandbox: a\n")?;
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.with_configuration_file(stage.root.join("deny.yaml")),
    attempt: |field: &Field| Answer::of("read the other name", fs::read(field.workspace("backup/key")), HIDDEN),
    refusal: Refusal::Holds,
    ..Attack::PLAIN
};
