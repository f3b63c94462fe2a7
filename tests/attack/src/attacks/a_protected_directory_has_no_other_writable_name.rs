//! A hook of the repository, with a hard link in the workspace: a `cp -al` of a repository makes such links.

use crate::answer::{Answer, PINNED};
use crate::attack::{Attack, Refusal};
use crate::field::Field;
use std::fs;

const HOOK: &str = "#!/bin/sh\n";

pub(crate) const ATTACK: Attack = Attack {
    id: "T005d",
    name: "a_protected_directory_has_no_other_writable_name",
    holds: "a file of a protected directory cannot be changed by a hard link in the workspace",
    bait: |stage| {
        stage.repository()?;
        let path = stage.file("ws/.git/hooks/pre-commit", HOOK)?;
        fs::hard_link(path, stage.workspace.join("copy"))?;
        Ok(())
    },
    attempt: |field: &Field| Answer::of("write by the other name", fs::write(field.workspace("copy"), "evil"), PINNED),
    judge: |stage, _| stage.must_say("ws/.git/hooks/pre-commit", HOOK),
    refusal: Refusal::Holds,
    ..Attack::PLAIN
};
