//! The same directory shown twice: the protection has to hold by both paths.

use crate::answer::{Answer, PINNED};
use crate::attack::{Attack, Refusal};
use crate::field::Field;
use crate::stage::GIT_CONFIG;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T018p",
    name: "an_overlapping_bind_does_not_free_a_protected_path",
    holds: "a writable bind of a parent of the workspace does not make its protected paths writable",
    bait: |stage| {
        stage.repository()?;
        let root = stage.root.display().to_string();
        stage.tell("root", root);
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.bind(format!("{}:/all:rw", stage.root.display())),
    attempt: |field: &Field| {
        let root = if field.is_control() { field.path("root") } else { "/all".into() };
        let written = fs::write(root.join("ws/.git/config"), "[core]\n\tfsmonitor = evil\n");
        Answer::of("write by the other path", written, PINNED)
    },
    judge: |stage, _| stage.must_say("ws/.git/config", GIT_CONFIG),
    refusal: Refusal::Holds,
    ..Attack::PLAIN
};
