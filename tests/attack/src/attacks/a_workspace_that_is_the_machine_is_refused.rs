//! The next run must not take what a link made of the workspace.

use crate::answer::{Answer, HIDDEN};
use crate::attack::{Attack, Refusal};
use crate::field::Field;
use std::fs;
use std::os::unix::fs::symlink;

pub(crate) const ATTACK: Attack = Attack {
    id: "T021b",
    name: "a_workspace_that_is_the_machine_is_refused",
    holds: "a workspace that is a link to the whole machine is refused",
    bait: |stage| {
        fs::remove_dir(&stage.workspace)?;
        symlink("/", &stage.workspace)?;
        Ok(())
    },
    attempt: |field: &Field| Answer::of("read", fs::read(field.workspace("etc/hostname")), HIDDEN),
    refusal: Refusal::Holds,
    ..Attack::PLAIN
};
