//! Sixty processes at once where twenty are allowed.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use crate::stage::Stage;
use polder::{EventKind, Finished, Guarantee, LimitKind, Report, Sandbox, Verdict};
use polder_sys::attempt::fork_many;

const WANTED: usize = 60;

pub(crate) const ATTACK: Attack = Attack {
    id: "T040b",
    name: "a_fork_bomb_is_bounded",
    holds: "more processes than allowed cannot be made, and the outcome says so",
    sandbox: |_, sandbox| sandbox.pids("20"),
    attempt: |_: &Field| bounded(fork_many(WANTED)),
    judge: |stage, finished| match finished.outcome.limit {
        Some(LimitKind::Pids) => Ok(()),
        // An engine whose limit cannot tell says so in its report, before anything runs.
        None if is_silent(stage, finished) => Ok(()),
        other => Err(format!("the limit held, and the outcome names {other:?} instead of the process limit")),
    },
    ..Attack::PLAIN
};

fn is_silent(stage: &Stage, finished: &Finished) -> bool {
    let engine = finished.events.iter().find_map(|event| match &event.kind {
        EventKind::Starting { engine, .. } => Some(engine.clone()),
        _ => None,
    });
    let sandbox = Sandbox::in_directory(&stage.workspace).engine(engine.unwrap_or_default()).pids("20");
    sandbox.plan(["true"]).is_ok_and(|planned| match planned.report() {
        Report::Fits { fit, .. } => {
            matches!(&fit.verdicts[&Guarantee::Pids], Verdict::Enforced { by } if by.contains("not reported"))
        }
        Report::Refused(_) => false,
    })
}

/// The limit has to stop it, and near the number that was allowed.
fn bounded((made, error): (usize, Option<std::io::Error>)) -> Answer {
    match error {
        None => Answer::Reached(format!("{made} processes")),
        Some(error) if error.raw_os_error() == Some(libc::EAGAIN) && (10..=20).contains(&made) => {
            Answer::Blocked(format!("{made} processes, then {error}"))
        }
        Some(error) => Answer::Broken(format!("{made} processes, then {error}")),
    }
}
