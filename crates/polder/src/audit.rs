//! Recording runs: what is written before a run begins and when it has ended, and what happens when it cannot be.
//!
//! A record is on the disk before the run begins, and that costs more than a sandbox does. So nothing is recorded unless a
//! file asks for it, except for runs that go without something: no sandbox, or an accepted gap.

use crate::error::Error;
use crate::records::Records;
use crate::trust;
use polder_audit::{AuditError, Kind, Log, digest};
use polder_engine::{Accepted, EngineClass, Verdict};
use polder_facts::{Ending, Outcome};
use polder_policy::{AuditMode, Policy, to_json};
use polder_run::Chosen;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use tracing::Span;

/// The log of this user, with its anchor; absent when the user has no home.
pub fn log(environment: &BTreeMap<OsString, OsString>) -> Option<Log> {
    let directory = trust::store(environment)?.with_file_name("audit");
    // Several logs of one user, each where `XDG_STATE_HOME` put it, have an anchor each.
    let key: String = digest(directory.as_os_str().as_encoded_bytes()).chars().take(ANCHOR_KEY_LETTERS).collect();
    let anchor = anchors(environment).map(|anchors| anchors.join(format!("{key}.json")));
    Some(Log::at(directory).with_anchor(anchor))
}

/// Where the anchors of logs are: in another directory than the logs, so that what removes the one leaves the other.
pub(crate) fn anchors(environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let variable = |name: &str| {
        let value = environment.get(&OsString::from(name)).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let base = variable("XDG_DATA_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/share")))?;
    Some(base.join("polder/audit-anchors"))
}

/// Enough of a hash to tell the logs of one user apart.
const ANCHOR_KEY_LETTERS: usize = 16;

/// Who records runs, and how strictly.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    log: Option<Log>,
    mode: Option<AuditMode>,
    records: Option<Records>,
    /// What the caller added to the policy.
    granted: Vec<String>,
    /// The content of the project's file.
    project: Option<String>,
    /// The word in front of the names of spans.
    prefix: &'static str,
    /// Whether a run is told to whoever listens to `tracing`.
    told: bool,
}

/// A run that is in the log, or needs not be.
#[derive(Debug)]
#[must_use = "a run that began has to end in the log"]
pub struct Entry {
    begun: Option<(Log, u64)>,
    /// Whether an end that cannot be recorded is an error.
    strict: bool,
    warning: Option<String>,
    span: Span,
}

/// Why a run does not start, or why its end is an error: it would not be in the log.
#[derive(Debug, thiserror::Error)]
pub enum Unrecorded {
    /// The log cannot take it.
    #[error("the run cannot be recorded, so it does not start")]
    Log(#[from] AuditError),
    /// There is no place for a log.
    #[error("the run cannot be recorded, so it does not start: there is no home directory; set HOME or XDG_STATE_HOME")]
    Nowhere,
    /// The log cannot take the end of a run that has ended.
    #[error("the run has ended, and its end cannot be recorded")]
    End(#[source] AuditError),
}

impl Recorder {
    pub(crate) const fn new(log: Option<Log>, mode: Option<AuditMode>, records: Option<Records>) -> Self {
        Self { log, mode, records, granted: Vec::new(), project: None, prefix: "polder", told: true }
    }

    /// The same for runs with these grants, in a project whose file has this hash.
    pub(crate) fn with(self, granted: Vec<String>, project: Option<String>, prefix: &'static str) -> Self {
        Self { granted, project, prefix, ..self }
    }

    /// The same for runs that are a part of another one: in the log, and nowhere else.
    pub(crate) fn only_logging(&self) -> Self {
        Self { records: None, told: false, ..self.clone() }
    }

    /// Where a run is kept for `polder explain`.
    pub(crate) const fn records(&self) -> Option<&Records> {
        self.records.as_ref()
    }

    /// Writes down that a run is about to begin, where it has to be.
    pub(crate) fn begin(&self, chosen: &Chosen, policy: &Policy) -> Result<Entry, Error> {
        let unsandboxed = chosen.fitted.report().class == EngineClass::None;
        let weaker = !chosen.fitted.accepted().is_empty();
        // Whether a run that cannot be recorded starts all the same.
        let (recorded, strict) = match self.mode {
            Some(AuditMode::Required) => (true, true),
            Some(AuditMode::BestEffort) => (true, false),
            Some(AuditMode::Off) => (unsandboxed, false),
            None => (unsandboxed || weaker, unsandboxed),
        };
        if !recorded {
            return Ok(Entry { begun: None, strict, warning: None, span: self.span(chosen) });
        }
        let written = match &self.log {
            Some(log) => {
                let mut data = described(chosen, policy);
                data["granted"] = self.granted.clone().into();
                data["project"] = self.project.clone().into();
                log.append(Kind::RunBegin, &data).map(|seq| (log.clone(), seq)).map_err(Unrecorded::Log)
            }
            None => Err(Unrecorded::Nowhere),
        };
        match written {
            Ok(begun) => Ok(Entry { begun: Some(begun), strict, warning: None, span: self.span(chosen) }),
            Err(error) if strict => Err(Error::Unrecorded(error)),
            Err(error) => Ok(Entry { begun: None, strict, warning: Some(whole(&error)), span: self.span(chosen) }),
        }
    }

    /// What whoever listens to `tracing` learns of a run: never the command, only how many words it has.
    fn span(&self, chosen: &Chosen) -> Span {
        if !self.told {
            return Span::none();
        }
        let plan = chosen.fitted.plan();
        tracing::info_span!(
            target: "polder::sandbox",
            "exec",
            prefix = self.prefix,
            name = format!("{}.exec", chosen.engine.span_word()),
            sandbox = plan.sandbox.as_deref().unwrap_or("default"),
            engine = chosen.engine.id(),
            network = plan.network.value.mode.name(),
            words = plan.command.len(),
            exit_code = tracing::field::Empty,
            interrupted = tracing::field::Empty,
            violations = tracing::field::Empty,
            error = tracing::field::Empty,
        )
    }
}

impl Entry {
    /// What the user should know: a run that is not recorded although it should be.
    pub fn warning(&self) -> Option<String> {
        self.warning.as_ref().map(|why| why.replace(", so it does not start", ""))
    }

    /// The span of the run, to be in while it lasts.
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// Writes down how it ended. The run is over, so all that is left to do about an error is to tell it: as an error where
    /// records are required, else as a warning, which is the answer.
    pub fn end<E: std::error::Error>(self, ended: &Result<Outcome, E>) -> Result<Option<String>, Unrecorded> {
        match ended {
            Ok(outcome) => {
                self.span.record("exit_code", outcome.exit_code());
                self.span.record("violations", outcome.violations);
                if matches!(outcome.ending, Ending::Interrupted(_)) {
                    self.span.record("interrupted", true);
                }
            }
            // The text of an error may name what the command was; that it was one is enough.
            Err(_) => drop(self.span.record("error", true)),
        }
        let Some((log, begin)) = self.begun else { return Ok(None) };
        let how = match ended {
            Ok(outcome) => json!({
                "exitCode": outcome.exit_code(),
                "ending": format!("{:?}", outcome.ending),
                "limit": outcome.limit.map(|limit| limit.name()),
                "violations": outcome.violations,
                "wallMs": u64::try_from(outcome.usage.wall.as_millis()).unwrap_or(u64::MAX),
            }),
            Err(error) => json!({"error": error.to_string()}),
        };
        match log.append(Kind::RunEnd, &json!({"begin": begin, "outcome": how})).map_err(Unrecorded::End) {
            Ok(_) => Ok(None),
            Err(error) if self.strict => Err(error),
            Err(error) => Ok(Some(whole(&error))),
        }
    }
}

/// What runs, by whom, and how it is kept. Never the command itself: only how many words it has.
fn described(chosen: &Chosen, policy: &Policy) -> Value {
    let fit = chosen.fitted.report();
    let plan = chosen.fitted.plan();
    let verdict = |verdict: &Verdict| match verdict {
        Verdict::Enforced { .. } => "enforced",
        Verdict::Weaker { .. } => "weaker",
        Verdict::Cannot { .. } => "cannot",
    };
    let report: Map<String, Value> =
        fit.verdicts.iter().map(|(guarantee, judged)| (guarantee.name().to_owned(), verdict(judged).into())).collect();
    let accepted = |accepted: &Accepted| {
        json!({
            "guarantee": accepted.guarantee.name(),
            "reason": accepted.gap.reason,
            "by": accepted.origin.to_string(),
        })
    };
    let accepted: Vec<Value> = chosen.fitted.accepted().iter().map(accepted).collect();
    let workspace = plan.files.shown.first().map(|shown| shown.host.to_string());
    let (uid, _) = polder_sys::wait::effective_ids();
    json!({
        "policy": digest(to_json(policy).to_string().as_bytes()),
        "plan": plan.hash(),
        "engine": fit.engine,
        "class": fit.class.name(),
        "sandbox": plan.sandbox,
        "report": report,
        "accepted": accepted,
        "network": plan.network.value.mode.name(),
        "workspace": workspace,
        "words": plan.command.len(),
        "uid": uid,
        "pid": std::process::id(),
    })
}

pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
