//! Opening a FIFO waits for its other end. A guard that looks twice at the path can be made to wait for ever, and with
//! it everything that the first process does: collecting, cleaning up, watching the lifeline.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::field::Field;
use polder::Ending;
use polder_sys::attempt::{RaceCall, daemonise, end_after, mknod, open, race};
use std::time::Duration;

const RACERS: usize = 10;
const ROUNDS: usize = 20_000;
const RACE_TIME: Duration = Duration::from_millis(100);

pub(crate) const ATTACK: Attack = Attack {
    id: "T018r",
    name: "a_memory_race_does_not_hold_up_the_guard",
    holds: "changing the path from a file to a FIFO in memory does not make the guard wait",
    sandbox: |_, sandbox| sandbox.timeout("5s"),
    attempt,
    decides: Decides::JudgeAlone,
    judge: |_, finished| match finished.outcome.ending {
        Ending::Exited(0) => Ok(()),
        other => Err(format!("the first process waits for a FIFO and did not see the end of the command: {other:?}")),
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let (file, pipe) = (field.workspace("a1"), field.workspace("a2"));
    let made = std::fs::write(&file, "x").and_then(|()| mknod(&pipe, libc::S_IFIFO | 0o600, 0));
    if let Err(error) = made {
        return Answer::Broken(error.to_string());
    }
    if field.is_control() {
        // Without a reader, who does not want to wait is told so.
        let waits = open(&pipe, libc::O_WRONLY | libc::O_NONBLOCK, 0).err().and_then(|error| error.raw_os_error());
        return match waits {
            Some(libc::ENXIO) => Answer::Reached("opening the FIFO would wait".to_owned()),
            other => Answer::Broken(format!("{other:?}")),
        };
    }
    for _ in 0..RACERS {
        let racing = daemonise(|| {
            // It may open the FIFO itself, for which only it has to wait; the next one needs its CPU.
            if end_after(RACE_TIME).is_ok() {
                let _ = race(&file, &pipe, &file, RaceCall::Create, ROUNDS, &mut || false);
            }
        });
        if let Err(error) = racing {
            return Answer::Broken(error.to_string());
        }
        std::thread::sleep(RACE_TIME);
        let dir = field.workspace("dir");
        if let Err(error) = std::fs::create_dir(&dir).and_then(|()| std::fs::remove_dir(&dir)) {
            return Answer::Broken(error.to_string());
        }
    }
    Answer::Blocked("the guard answered all the time".to_owned())
}
