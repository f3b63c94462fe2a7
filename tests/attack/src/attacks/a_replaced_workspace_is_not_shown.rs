//! Between the plan and the launch the workspace turns into a link to the home directory.

use crate::answer::{Answer, HIDDEN};
use crate::attack::{Attack, Refusal};
use crate::field::Field;
use std::fs;
use std::os::unix::fs::symlink;

pub(crate) const ATTACK: Attack = Attack {
    id: "T021a",
    name: "a_replaced_workspace_is_not_shown",
    holds: "a workspace that became a link after the plan was made is not shown",
    bait: |stage| {
        stage.file("home/.ssh/id", "secret")?;
        let root = stage.root.display().to_string();
        stage.tell("root", root);
        Ok(())
    },
    attempt,
    run: |stage, _, sandbox, command| {
        let planned = sandbox.plan(command)?;
        let swapped =
            fs::rename(&stage.workspace, stage.root.join("old")).and_then(|()| symlink(&stage.home, &stage.workspace));
        assert!(swapped.is_ok(), "the workspace is ours to swap");
        planned.run()
    },
    refusal: Refusal::Holds,
    ..Attack::PLAIN
};

pub(super) fn attempt(field: &Field) -> Answer {
    if field.is_control() {
        let ws = field.workspace("");
        let swapped = fs::rename(&ws, field.path("root").join("old")).and_then(|()| symlink(field.home(""), &ws));
        if let Err(error) = swapped {
            return Answer::Broken(error.to_string());
        }
    }
    Answer::of("read the home as the workspace", fs::read(field.workspace(".ssh/id")), HIDDEN)
}
