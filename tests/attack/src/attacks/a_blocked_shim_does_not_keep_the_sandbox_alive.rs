//! The guard opens files for the command, and opening a FIFO waits for its other end. The lifeline is watched all the
//! same.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::attacks::{beat, launcher};
use crate::field::Field;
use polder_sys::attempt::{daemonise, end_after, mknod, open};
use std::time::Duration;

pub(crate) const ATTACK: Attack = Attack {
    id: "T077b",
    name: "a_blocked_shim_does_not_keep_the_sandbox_alive",
    holds: "nothing inside lives on when polder is killed while the first process waits for a file",
    attempt,
    run: launcher::run_and_kill,
    decides: Decides::JudgeAlone,
    judge: |stage, _| beat::is_over(stage),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let path = field.workspace("pipe");
    if let Err(error) = mknod(&path, libc::S_IFIFO | 0o600, 0) {
        return Answer::Broken(error.to_string());
    }
    let answer = beat::start(field);
    // No process opens the other end.
    let asked = daemonise(|| {
        let _ = end_after(Duration::from_secs(5)).and_then(|()| open(&path, libc::O_CREAT | libc::O_WRONLY, 0o600));
    });
    if let Err(error) = asked {
        return Answer::Broken(error.to_string());
    }
    launcher::linger(field);
    answer
}
