//! The same trick as against a protected path, to read instead of to write.

use crate::answer::{Answer, PINNED};
use crate::attack::Attack;
use crate::field::Field;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T007d",
    name: "a_renamed_parent_does_not_reveal_a_hidden_path",
    holds: "the parents of a hidden path cannot be moved away from under their mask",
    bait: |stage| {
        stage.file("ws/a/b/key", "secret")?;
        stage.file("deny.yaml", "sandboxes: {a: {deny_read: [a/b/key]}}\nsandbox: a\n")?;
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.with_configuration_file(stage.root.join("deny.yaml")),
    attempt: |field: &Field| {
        let (old, new) = (field.workspace("a"), field.workspace("c"));
        let inner = fs::rename(old.join("b"), old.join("d")).and_then(|()| fs::read(old.join("d/key")));
        let outer = fs::rename(&old, &new).and_then(|()| fs::read(new.join("d/key")));
        Answer::all(
            field,
            [Answer::of("rename the parent", inner, PINNED), Answer::of("rename its parent", outer, PINNED)],
        )
    },
    ..Attack::PLAIN
};
