//! Whoever has the shim's side of the control socket can say that the command ended, and is then watched no longer.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::field::Field;
use polder::Ending;
use std::os::fd::AsFd;
use std::time::Duration;

/// The tag of the record that tells of the end, then a status of zero, and nothing else.
const RECORD_BYTES: usize = 40;
const TAGS_MAX: u32 = 16;
/// How long the command stays when nobody ends it: long enough that a busy machine is not taken for one that waits for it.
const STAYS: Duration = Duration::from_secs(50);

pub(crate) const ATTACK: Attack = Attack {
    id: "T003e",
    name: "the_outcome_cannot_be_forged",
    holds: "the command cannot tell polder that it ended, and its timeout holds",
    bait: |stage| {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        polder_sys::attempt::keep_over_exec(theirs.as_fd())?;
        stage.hold((ours, theirs));
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.timeout("1s"),
    attempt,
    decides: Decides::JudgeAlone,
    judge: |_, finished| {
        let (ending, wall) = (finished.outcome.ending, finished.outcome.usage.wall);
        if ending == Ending::TimedOut && wall < STAYS / 2 {
            return Ok(());
        }
        Err(format!("polder took a forged end for the real one: {ending:?}, and waited {wall:?} with a timeout of 1 s"))
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let mut sent = 0;
    for number in 3..64 {
        // The tag is not known here, so every small one is tried.
        for tag in 1..TAGS_MAX {
            let mut record = [0u8; RECORD_BYTES];
            record[..4].copy_from_slice(&tag.to_ne_bytes());
            sent += u32::from(polder_sys::attempt::send_raw(number, &record).is_ok());
        }
    }
    if !field.is_control() {
        std::thread::sleep(STAYS);
    }
    if sent > 0 { Answer::Reached(format!("{sent} records sent")) } else { Answer::Blocked("no socket".to_owned()) }
}
