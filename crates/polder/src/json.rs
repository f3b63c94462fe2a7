//! Parts of a run as JSON: the same fields in events, in records and wherever else programs read them.

use polder_engine::Verdict;
use polder_facts::{Ending, Outcome, Violation};
use serde_json::{Value, json};

/// Something that was denied.
pub fn violation(violation: &Violation) -> Value {
    let Violation { action, target, rule, layer, pid, exe, count, grant, note } = violation;
    json!({
        "action": action.name(),
        "target": target,
        "rule": rule,
        "layer": layer,
        "pid": pid,
        "exe": exe,
        "count": count,
        "suggestedCapability": grant.as_ref().map(ToString::to_string),
        "note": note,
    })
}

/// How a run ended.
pub fn outcome(outcome: &Outcome) -> Value {
    let Outcome { ending, limit, usage, violations } = outcome;
    let (state, signal) = match ending {
        Ending::Exited(_) => ("exited", None),
        Ending::Signalled(signal) => ("signalled", Some(*signal)),
        Ending::TimedOut => ("timed-out", None),
        Ending::LimitReached => ("limit", None),
        Ending::Interrupted(signal) => ("interrupted", Some(*signal)),
        Ending::NotExecutable(_) => ("not-executable", None),
        Ending::NotFound => ("not-found", None),
        Ending::Lost => ("lost", None),
    };
    json!({
        "state": state,
        "exitCode": outcome.exit_code(),
        "signal": signal,
        "limit": limit.map(|limit| limit.name()),
        "wallMs": u64::try_from(usage.wall.as_millis()).unwrap_or(u64::MAX),
        "cpuMs": u64::try_from(usage.cpu.as_millis()).unwrap_or(u64::MAX),
        "peakRssBytes": usage.peak_rss_bytes,
        "violations": violations,
    })
}

/// What an engine says about one guarantee.
pub fn verdict(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Enforced { by } => json!({"verdict": "enforced", "by": by}),
        Verdict::Weaker { by, gap } => {
            json!({"verdict": "weaker", "by": by, "reason": gap.reason, "remedy": gap.remedy})
        }
        Verdict::Cannot { gap } => json!({"verdict": "cannot", "reason": gap.reason, "remedy": gap.remedy}),
    }
}
