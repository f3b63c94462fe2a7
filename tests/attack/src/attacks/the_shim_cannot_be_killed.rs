//! Its end is the end of everything inside; stopping it would stop the clean-up.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::kill;
use std::time::Duration;

pub(crate) const ATTACK: Attack = Attack {
    id: "T035b",
    name: "the_shim_cannot_be_killed",
    holds: "no signal from inside ends or stops the first process",
    bait: |stage| {
        let victim = stage.victim("")?;
        stage.tell("victim", victim);
        Ok(())
    },
    attempt,
    judge: |_, finished| {
        let ending = finished.outcome.ending;
        if ending == polder::Ending::Exited(0) { Ok(()) } else { Err(format!("the run ended as {ending:?}")) }
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let target = if field.is_control() { field.number("victim") as i32 } else { 1 };
    for signal in [libc::SIGSTOP, libc::SIGTERM, libc::SIGSEGV, libc::SIGKILL] {
        let _ = kill(target, signal);
    }
    std::thread::sleep(Duration::from_millis(100));
    // A process that was killed has no memory any more; its entry may wait to be collected.
    let state = std::fs::read_to_string(format!("/proc/{target}/stat")).unwrap_or_default();
    if field.is_control() && (state.is_empty() || state.contains(") Z ")) {
        return Answer::Reached("the process is gone".to_owned());
    }
    if field.is_control() {
        return Answer::Broken(format!("the process lives: {state}"));
    }
    // Were it gone, we would be, too; were it stopped, this name would never be made.
    match std::fs::create_dir(field.workspace("dir")) {
        Ok(()) => Answer::Blocked("it still works".to_owned()),
        Err(error) => Answer::Reached(format!("it does not answer: {error}")),
    }
}
