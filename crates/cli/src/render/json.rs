//! JSON for programs: the same fields everywhere, times in RFC 3339, units in the names.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use polder::json::violation;
pub(crate) use polder::json::{outcome, verdict};
use polder::{Event, EventKind, Output, Planned, Progress, Report};
use serde_json::{Map, Value, json};

/// One event as one line.
pub(crate) fn event(event: &Event) -> Value {
    let (kind, mut rest) = match &event.kind {
        EventKind::Starting { engine, reason } => ("starting", json!({"engine": engine, "reason": reason})),
        EventKind::Progress(told) => ("progress", progress(told)),
        EventKind::Ready => ("ready", json!({})),
        EventKind::Output(Output::Stdout, bytes) => ("stdout", data(bytes)),
        EventKind::Output(Output::Stderr, bytes) => ("stderr", data(bytes)),
        EventKind::Violation(found) => ("violation", json!({"violation": violation(found)})),
        EventKind::Limit(limit) => ("limit", json!({"limit": limit.name()})),
        EventKind::Downgrade { guarantee, reason } => {
            ("downgrade", json!({"guarantee": guarantee.name(), "reason": reason}))
        }
        EventKind::Warning(text) => ("warning", json!({"text": text})),
        EventKind::Changes { workspace, changed, kept } => {
            ("changes", json!({"workspace": workspace, "changed": changed, "kept": kept}))
        }
        EventKind::Exit(ended) => ("exit", json!({"outcome": outcome(ended)})),
        EventKind::Stopped => ("stopped", json!({})),
    };
    let mut object = Map::new();
    object.insert("type".to_owned(), kind.into());
    object.insert("run".to_owned(), event.run.0.clone().into());
    object.insert("seq".to_owned(), event.seq.into());
    object.insert("time".to_owned(), humantime::format_rfc3339_millis(event.time).to_string().into());
    if let Some(more) = rest.as_object_mut() {
        object.append(more);
    }
    Value::Object(object)
}

fn progress(told: &Progress) -> Value {
    let Progress { what, text, current_bytes, total_bytes, done } = told;
    json!({"what": what, "text": text, "current_bytes": current_bytes, "total_bytes": total_bytes, "done": done})
}

/// Text as text, everything else as base64.
fn data(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!({"data": text}),
        Err(_) => json!({"base64": STANDARD.encode(bytes)}),
    }
}

/// A plan and what enforces it.
pub(crate) fn plan(planned: &Planned) -> Value {
    let plan = planned.plan();
    let (engine, report, refused) = match planned.report() {
        Report::Fits { fit, reason } => {
            let verdicts: Map<String, Value> =
                fit.verdicts.iter().map(|(guarantee, judged)| (guarantee.name().to_owned(), verdict(judged))).collect();
            (
                json!({"id": fit.engine, "class": fit.class.name(), "reason": reason}),
                Value::Object(verdicts),
                Value::Null,
            )
        }
        Report::Refused(unfit) => (Value::Null, Value::Null, unfit.to_string().into()),
    };
    json!({
        "hash": plan.hash(),
        "plan": plan.to_string().lines().collect::<Vec<_>>(),
        "policy": polder_policy::to_json(planned.policy()),
        "engine": engine,
        "report": report,
        "refused": refused,
    })
}
