//! `mv .git .git2; mkdir .git; echo > .git/config` works against a plain read-only bind.

use crate::answer::{Answer, PINNED};
use crate::attack::Attack;
use crate::field::Field;
use crate::stage::GIT_CONFIG;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T007a",
    name: "a_renamed_parent_does_not_free_a_protected_path",
    holds: "the parents of a protected path cannot be moved away and made anew",
    bait: |stage| Ok(stage.repository()?),
    attempt,
    judge: |stage, _| stage.must_say("ws/.git/config", GIT_CONFIG),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let (git, other) = (field.workspace(".git"), field.workspace(".git2"));
    let moved = fs::rename(&git, &other)
        .and_then(|()| fs::create_dir(&git))
        .and_then(|()| fs::write(git.join("config"), "[core]\n\tfsmonitor = evil\n"));
    Answer::of("rename .git, make it anew, write config", moved, PINNED)
}
