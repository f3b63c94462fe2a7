//! One file, two names, one of them hidden.

use crate::answer::{Answer, HIDDEN};
use crate::attack::{Attack, Refusal};
use crate::field::Field;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T071",
    name: "a_hidden_file_has_no_other_readable_name",
    holds: "a file under deny_read is not readable by another name that it has in the workspace",
    bait: |stage| {
        let path = stage.file("ws/.env", "TOKEN=secret")?;
        fs::hard_link(path, stage.workspace.join("backup"))?;
        stage.file("deny.yaml", "sandboxes: {a: {deny_read: [.env]}}\nsandbox: a\n")?;
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.with_configuration_file(stage.root.join("deny.yaml")),
    attempt: |field: &Field| Answer::of("read the other name", fs::read(field.workspace("backup")), HIDDEN),
    refusal: Refusal::Holds,
    ..Attack::PLAIN
};
