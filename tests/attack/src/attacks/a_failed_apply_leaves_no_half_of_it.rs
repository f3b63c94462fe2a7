//! The disk is full or fails at any step of an apply: what the command left is in the tree as a whole, or not at all.

use super::host_apply::workspace;
use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Decides, Refusal};
use crate::field::Field;
use crate::stage::Stage;
use polder_workspace::{ApplyError, Choice, Settled, Unwatched, Watch};
use std::fs;
use std::io;

const STEPS_MAX: usize = 200;
const FILES: [&str; 3] = ["changed", "gone", "dir/changed"];

pub(crate) const ATTACK: Attack = Attack {
    id: "T029a",
    name: "a_failed_apply_leaves_no_half_of_it",
    holds: "an apply that fails at any step, by a full or a failing disk, leaves the tree as it was, or is resumed to its end",
    bait: |stage| {
        for name in FILES {
            stage.file(&format!("ws/{name}"), "before")?;
        }
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.cow(),
    attempt,
    refusal: Refusal::Holds,
    decides: Decides::JudgeAlone,
    judge: |stage, _| {
        for error in [libc::ENOSPC, libc::EIO] {
            for step in 1..STEPS_MAX {
                if fails_at(stage, step, error)? {
                    continue;
                }
                // Fewer steps than that: everything is in place. Back to the beginning, for the next error.
                is_after(stage)?;
                workspace(stage)?.revert(&mut Unwatched).map_err(|error| error.to_string())?;
                is_before(stage)?;
                break;
            }
        }
        workspace(stage)?.apply(&Choice::everything(), &mut Unwatched).map_err(|error| error.to_string())?;
        is_after(stage)
    },
    ..Attack::PLAIN
};

/// Fails at one step, and at every one after it if the way back is to fail as well.
struct At {
    step: usize,
    seen: usize,
    error: i32,
}

impl Watch for At {
    fn step(&mut self, _: &'static str) -> io::Result<()> {
        self.seen += 1;
        if self.seen == self.step { Err(io::Error::from_raw_os_error(self.error)) } else { Ok(()) }
    }
}

/// Whether an apply came to that step. Afterwards the tree is as it was, or is brought there.
fn fails_at(stage: &Stage, step: usize, error: i32) -> Result<bool, String> {
    let mut at = At { step, seen: 0, error };
    match workspace(stage)?.apply(&Choice::everything(), &mut at) {
        Ok(_) => return Ok(false),
        Err(ApplyError::NotApplied { .. }) => {}
        Err(ApplyError::Stuck { .. }) => {
            let settled = workspace(stage)?.abort(&mut Unwatched).map_err(|error| error.to_string())?;
            if !matches!(&settled, Settled::NotApplied { left } if left.is_empty()) {
                return Err(format!("an abort ended with {settled:?}"));
            }
        }
        Err(other) => return Err(other.to_string()),
    }
    is_before(stage).map(|()| true)
}

fn is_before(stage: &Stage) -> Result<(), String> {
    FILES.iter().try_for_each(|name| stage.must_say(&format!("ws/{name}"), "before"))?;
    stage.must_not_exist("ws/new")
}

fn is_after(stage: &Stage) -> Result<(), String> {
    stage.must_say("ws/changed", "after")?;
    stage.must_say("ws/dir/changed", "after")?;
    stage.must_say("ws/new/deep", "after")?;
    stage.must_not_exist("ws/gone")
}

fn attempt(field: &Field) -> Answer {
    let at = |name: &str| field.workspace(name);
    let work = || -> io::Result<()> {
        fs::write(at("changed"), "after")?;
        fs::write(at("dir/changed"), "after")?;
        fs::create_dir(at("new"))?;
        fs::write(at("new/deep"), "after")?;
        fs::remove_file(at("gone"))
    };
    Answer::of("the changes", work(), DENIED)
}
