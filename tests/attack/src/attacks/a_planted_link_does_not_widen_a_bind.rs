//! One run turns a directory of the workspace into a link to the home; the next one has a bind on it.

use crate::answer::{Answer, HIDDEN};
use crate::attack::{Attack, Refusal};
use crate::field::Field;
use std::fs;
use std::os::unix::fs::symlink;

pub(crate) const ATTACK: Attack = Attack {
    id: "T021c",
    name: "a_planted_link_does_not_widen_a_bind",
    holds: "a bind of a path in the workspace does not follow a link that leads out of it",
    bait: |stage| {
        stage.file("home/.ssh/id", "secret")?;
        symlink("../home", stage.workspace.join("cache"))?;
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.bind(format!("{}:/cache", stage.workspace.join("cache").display())),
    attempt: |field: &Field| {
        let path = if field.is_control() { field.workspace("cache/.ssh/id") } else { "/cache/.ssh/id".into() };
        Answer::of("read through the bind", fs::read(path), HIDDEN)
    },
    refusal: Refusal::Holds,
    ..Attack::PLAIN
};
