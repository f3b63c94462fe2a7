//! A layer lies on the host's disk.

use crate::answer::Answer;
use crate::attack::{Attack, Decides, Refusal};
use crate::field::Field;
use polder::LimitKind;
use std::fs::File;
use std::io::Write;

const MIB: usize = 1 << 20;
const WRITTEN_MIB: usize = 512;

pub(crate) const ATTACK: Attack = Attack {
    id: "T040l",
    name: "a_layer_filler_is_bounded",
    holds: "a layer that grows beyond its bound ends the run, and the outcome says so",
    sandbox: |_, sandbox| sandbox.cow().disk("8M").accept(polder::Guarantee::Disk),
    attempt,
    refusal: Refusal::Holds,
    decides: Decides::JudgeAlone,
    judge: |_, finished| match finished.outcome.limit {
        Some(LimitKind::Disk) => Ok(()),
        other => Err(format!("the layer was filled, and the outcome names {other:?} instead of the disk limit")),
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let block = vec![1_u8; MIB];
    // In the control a fraction shows that nobody stops it.
    let wanted = if field.is_control() { 32 } else { WRITTEN_MIB };
    let written = File::create(field.workspace("spill"))
        .and_then(|mut file| (0..wanted).try_for_each(|_| file.write_all(&block)));
    match written {
        Ok(()) => Answer::Reached(format!("{wanted} MiB")),
        Err(error) => Answer::Blocked(error.to_string()),
    }
}
