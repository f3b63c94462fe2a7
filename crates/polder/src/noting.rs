//! What is kept of a run for `polder explain`: gathered while it runs, written when it has ended.
//!
//! Never the text of the command, only its name and how many words it has; never the value of a variable. Gathering costs
//! nothing that could be measured, and writing happens when the outcome is known.

use crate::credentials::Secrets;
use crate::json;
use crate::records::{RECORD_BYTES_MAX, Records};
use polder_engine::Fit;
use polder_facts::{Event, EventKind, Outcome, Violation};
use polder_plan::{Plan, Role};
use polder_run::Chosen;
use serde_json::{Map, Value, json};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// What the plan may take of a record; the rest is counted.
const PLAN_BYTES_MAX: usize = RECORD_BYTES_MAX / 4;
/// What all violations together may take; the rest is counted.
const VIOLATIONS_BYTES_MAX: usize = RECORD_BYTES_MAX / 2;
/// One text of a report or of an error.
const TEXT_BYTES_MAX: usize = 2048;

/// A run that is being listened to.
#[derive(Debug)]
#[must_use = "nothing is kept of a run whose end is not told"]
pub struct Noting {
    records: Option<Records>,
    secrets: Secrets,
    plan: Arc<Plan>,
    fit: Fit,
    reason: String,
    run: Option<(String, SystemTime)>,
    violations: Vec<Violation>,
}

impl Noting {
    pub(crate) fn new(chosen: &Chosen, records: Option<Records>, secrets: Secrets) -> Self {
        Self {
            records,
            secrets,
            plan: Arc::clone(chosen.fitted.plan()),
            fit: chosen.fitted.report().clone(),
            reason: chosen.reason.clone(),
            run: None,
            violations: Vec::new(),
        }
    }

    /// One event, without secrets.
    pub fn hear(&mut self, event: &Event) {
        self.run.get_or_insert_with(|| (event.run.0.clone(), event.time));
        if let EventKind::Violation(violation) = &event.kind {
            match self.violations.iter_mut().find(|known| is_same(known, violation)) {
                Some(known) => known.count += violation.count,
                None => self.violations.push(violation.clone()),
            }
        }
    }

    /// Everything that was denied so far, each once, with how often.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Keeps the run if there is something to explain; gives its name if it did.
    pub fn end<E: std::error::Error>(self, ended: &Result<Outcome, E>) -> io::Result<Option<String>> {
        let quiet = matches!(ended, Ok(outcome) if outcome.success()) && self.violations.is_empty();
        match (&self.records, &self.run) {
            (Some(records), Some((run, time))) if !quiet => {
                records.keep(run, &self.told(run, *time, ended).to_string())?;
                Ok(Some(run.clone()))
            }
            _ => Ok(None),
        }
    }

    fn told<E: std::error::Error>(&self, run: &str, time: SystemTime, ended: &Result<Outcome, E>) -> Value {
        let Self { records: _, secrets, plan, fit, reason, run: _, violations } = self;
        let name = plan.command.first().and_then(|word| Path::new(word).file_name()).unwrap_or_default();
        let workspace = plan.files.shown.iter().find(|shown| shown.role == Role::Workspace);
        let report: Map<String, Value> = fit
            .verdicts
            .iter()
            .map(|(guarantee, judged)| (guarantee.name().to_owned(), json::verdict(judged)))
            .collect();
        let outcome = match ended {
            Ok(outcome) => json::outcome(outcome),
            Err(error) => json!({"error": short(&secrets.clean(&error.to_string()))}),
        };
        let (plan_lines, plan_lines_left_out) = bounded(self.plan_lines(), PLAN_BYTES_MAX);
        let told = violations.iter().map(json::violation).collect();
        let (violations, violations_left_out) = bounded(told, VIOLATIONS_BYTES_MAX);
        json!({
            "version": 1,
            "run": run,
            "time": humantime::format_rfc3339_millis(time).to_string(),
            "command": {"name": short(&secrets.clean(&name.to_string_lossy())), "words": plan.command.len()},
            "workspace": workspace.map(|shown| shown.host.to_string()),
            "engine": {"id": fit.engine, "class": fit.class.name(), "reason": short(reason)},
            "observe": plan.observe.value.name(),
            "outcome": outcome,
            "violations": violations,
            "violationsLeftOut": violations_left_out,
            "report": report,
            "hash": plan.hash(),
            "plan": plan_lines,
            "planLinesLeftOut": plan_lines_left_out,
        })
    }

    /// The plan without the command. Control characters are escaped in it, so a line is what it seems.
    fn plan_lines(&self) -> Vec<Value> {
        let text = self.plan.to_string();
        let lines = text.lines().filter(|line| line.split_whitespace().next() != Some("command"));
        lines.map(|line| short(&self.secrets.clean(line)).into()).collect()
    }
}

/// Whether it is the same thing once more.
fn is_same(a: &Violation, b: &Violation) -> bool {
    let Violation { action, target, rule, layer, pid, exe, count: _, grant, note } = a;
    target == &b.target
        && (action, pid, exe) == (&b.action, &b.pid, &b.exe)
        && (rule, layer, grant, note) == (&b.rule, &b.layer, &b.grant, &b.note)
}

/// The beginning of a list that takes no more than this as text, and how many were left out.
fn bounded(values: Vec<Value>, bytes_max: usize) -> (Vec<Value>, usize) {
    let all = values.len();
    let mut left = bytes_max;
    let fits = |value: &Value| {
        let size = value.to_string().len() + 1;
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    let kept: Vec<Value> = values.into_iter().take_while(fits).collect();
    let left_out = all - kept.len();
    (kept, left_out)
}

fn short(text: &str) -> String {
    match text.char_indices().find(|(at, _)| *at >= TEXT_BYTES_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_where_its_bytes_do_and_says_how_much_is_missing() {
        let values: Vec<Value> = (0..100).map(|_| "0123456789".into()).collect();
        let (kept, left_out) = bounded(values.clone(), 13 * 7 + 5);
        assert_eq!((kept.len(), left_out), (7, 93));
        assert_eq!(bounded(values, usize::MAX).1, 0);
        assert_eq!(short(&"ä".repeat(2000)), format!("{}…", "ä".repeat(TEXT_BYTES_MAX / 2)));
    }
}
