//! A process that is stopped does not react to anything but a kill.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::field::Field;
use polder::Ending;
use polder_sys::attempt::kill;
use std::time::Duration;

/// Nobody else ends it: a command that only a kill reaches stays for ever.
const ENDED_BY_THEN: Duration = Duration::from_secs(30);

pub(crate) const ATTACK: Attack = Attack {
    id: "T040a",
    name: "a_stopped_command_does_not_outlive_its_time",
    holds: "a command that stops itself is ended by its timeout",
    bait: |stage| {
        let victim = stage.victim("")?;
        stage.tell("victim", victim);
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.timeout("500ms"),
    attempt,
    decides: Decides::JudgeAlone,
    judge: |_, finished| {
        let (ending, wall) = (finished.outcome.ending, finished.outcome.usage.wall);
        if ending != Ending::TimedOut || wall > ENDED_BY_THEN {
            return Err(format!("{ending:?} after {wall:?}"));
        }
        Ok(())
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if !field.is_control() {
        let _ = kill(0, libc::SIGSTOP);
        return Answer::Broken("went on after the stop".to_owned());
    }
    // Without a sandbox, a stopped process outlives a polite request to end.
    let victim = field.number("victim");
    for signal in [libc::SIGSTOP, libc::SIGTERM] {
        let _ = kill(victim as i32, signal);
        std::thread::sleep(Duration::from_millis(100));
    }
    let state = std::fs::read_to_string(format!("/proc/{victim}/stat")).unwrap_or_default();
    if state.contains(") T ") { Answer::Reached("it is stopped and lives".to_owned()) } else { Answer::Broken(state) }
}
