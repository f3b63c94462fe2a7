//! A limit that was reached, as a violation with its next step. Pure.

use polder_facts::{Action, ByteSize, Ending, Grant, LimitKind, Outcome, Sourced, Span, Violation};
use polder_policy::Limits;
use std::fmt::Display;

/// What a run was denied by a limit of its policy, or by the size of the private file systems that it has without one;
/// the grant is twice of it.
pub(crate) fn violation(outcome: &Outcome, limits: &Limits, scratch: ByteSize) -> Option<Violation> {
    if outcome.ending == Ending::TimedOut {
        return limits.timeout.as_ref().map(|limit| of("timeout", limit, Span(limit.value.0 * 2), "a timer"));
    }
    let bytes = |limit: &Sourced<ByteSize>| ByteSize(limit.value.0.saturating_mul(2));
    match outcome.limit? {
        LimitKind::Memory => limits.memory.as_ref().map(|limit| of("memory", limit, bytes(limit), "the memory cgroup")),
        LimitKind::Pids => {
            limits.pids.as_ref().map(|limit| of("pids", limit, limit.value.saturating_mul(2), "the pids cgroup"))
        }
        LimitKind::Disk => {
            let limit = limits.disk.clone().unwrap_or_else(|| Sourced::built_in(scratch));
            Some(of("disk", &limit, bytes(&limit), "the private file systems"))
        }
        LimitKind::Output => limits.output.as_ref().map(|limit| of("output", limit, bytes(limit), "counting")),
    }
}

fn of<T: Display>(name: &str, limit: &Sourced<T>, next: impl Display, layer: &str) -> Violation {
    Violation {
        action: Action::Limit,
        target: name.to_owned(),
        rule: format!("limits.{name}: {} ({})", limit.value, limit.origin),
        layer: layer.to_owned(),
        pid: None,
        exe: None,
        count: 1,
        grant: Some(Grant::Limit { name: name.to_owned(), value: next.to_string() }),
        note: None,
    }
}
