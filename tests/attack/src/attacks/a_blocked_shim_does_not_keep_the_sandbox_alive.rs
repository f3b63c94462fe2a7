//! The guard opens files for the command, and opening a leased file waits. While it waits, nobody watches the lifeline.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::attacks::{beat, launcher};
use crate::field::Field;
use polder_sys::attempt::{daemonise, lease, open};
use std::fs::File;
use std::os::fd::AsFd;
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
    let path = field.workspace("leased");
    if let Err(error) = File::create(&path) {
        return Answer::Broken(error.to_string());
    }
    let answer = beat::start(field);
    // Made before the lease is taken, so that only this process holds it and its end gives it back.
    let asked = daemonise(|| {
        std::thread::sleep(Duration::from_millis(150));
        let _ = open(&path, libc::O_CREAT | libc::O_WRONLY, 0o600);
    });
    let leased = File::options().read(true).write(true).open(&path);
    match (asked, leased.as_ref().map(|file| lease(file.as_fd()))) {
        (Ok(()), Ok(Ok(()))) => {}
        (Ok(()), Ok(Err(error))) => return Answer::Lacking(format!("no leases here: {error}")),
        (Err(error), _) => return Answer::Broken(error.to_string()),
        (Ok(()), Err(error)) => return Answer::Broken(error.to_string()),
    }
    launcher::linger(field);
    answer
}
