//! A log that fills the disk of whoever keeps it.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::field::Field;
use polder::{Ending, LimitKind};
use std::io::Write;

const LIMIT_BYTES: usize = 64 << 10;

pub(crate) const ATTACK: Attack = Attack {
    id: "T040h",
    name: "an_output_flood_is_bounded",
    holds: "more output than allowed ends the run, is cut at the limit, and the outcome says so",
    sandbox: |_, sandbox| sandbox.output("64K"),
    attempt,
    decides: Decides::JudgeAlone,
    judge: |_, finished| {
        let (ending, limit) = (finished.outcome.ending, finished.outcome.limit);
        let bytes = finished.stdout.len() + finished.stderr.len();
        if ending == Ending::LimitReached && limit == Some(LimitKind::Output) && bytes <= LIMIT_BYTES {
            return Ok(());
        }
        Err(format!("{ending:?}, limit {limit:?}, {bytes} bytes"))
    },
    ..Attack::PLAIN
};

fn attempt(_: &Field) -> Answer {
    let line = [b'x'; 4096];
    for _ in 0..512 {
        let written = std::io::stdout().write_all(&line).and_then(|()| std::io::stderr().write_all(&line));
        if let Err(error) = written {
            return Answer::Broken(error.to_string());
        }
    }
    let _ = std::io::stdout().write_all(b"\n");
    Answer::Reached("4 MiB were written".to_owned())
}
