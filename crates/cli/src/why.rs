//! `polder why`: what is allowed at one path or for one peer, without running anything.
//!
//! Outside, the policy of the directory answers, with rules, origins and grants. Inside a sandbox, the file that every run
//! finds answers; it knows paths inside and nothing of the host.

mod inside;
mod outside;
mod target;

use crate::args::WhyArgs;
use crate::exit::{Failure, on_one_line};
use crate::render::text::{pasteable, tolerate_closed};
use crate::workspace::escaped;
use polder::ALLOWANCE;
use serde_json::{Map, Value, json};
use std::fs;
use std::io::{self, Write};
use target::Target;

/// The longest file that is read about a sandbox.
const ALLOWANCE_BYTES_MAX: usize = 1024 * 1024;

/// What was asked about, and an answer for each thing that can be done there.
type Answered = (Target, Vec<(&'static str, Answer)>);

/// What may be done, or not, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    /// Whether; `None` where nobody can tell before it is tried.
    allowed: Option<bool>,
    rule: Option<String>,
    layer: Option<String>,
    /// The grant that allows it.
    grant: Option<String>,
    note: Option<String>,
    /// Where it is on the host; only outside.
    host: Option<String>,
    /// Whether something is at the path, as far as that can be seen without running anything.
    found: Option<bool>,
}

pub(crate) fn why(args: &WhyArgs) -> Result<u8, Failure> {
    let WhyArgs { policy, target, json } = args;
    let (place, target, answers) = match fs::read(ALLOWANCE) {
        Ok(text) if text.len() <= ALLOWANCE_BYTES_MAX => {
            let (target, answers) = inside::answers(&text, target)?;
            ("inside", target, answers)
        }
        Ok(_) => return Err(Failure::new(format!("`{ALLOWANCE}` is too long to be polder's"))),
        // Outside, root keeps things of its own in that directory, which others cannot enter.
        Err(_) => {
            let (target, answers) = outside::answers(&policy.sandbox().plan(["true"])?, target)?;
            ("outside", target, answers)
        }
    };
    let text = if *json {
        let answers: Map<String, Value> =
            answers.iter().map(|(wish, answer)| ((*wish).to_owned(), answer.json())).collect();
        escaped(&json!({"target": target.to_string(), "asked": place, "answers": answers}).to_string()) + "\n"
    } else {
        answers.iter().map(|(wish, answer)| answer.line(wish, &target)).collect()
    };
    tolerate_closed(io::stdout().lock().write_all(text.as_bytes()))?;
    Ok(0)
}

impl Answer {
    fn yes() -> Self {
        Self { allowed: Some(true), rule: None, layer: None, grant: None, note: None, host: None, found: None }
    }

    fn no(rule: impl Into<String>) -> Self {
        Self { allowed: Some(false), rule: Some(rule.into()), ..Self::yes() }
    }

    fn note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    fn json(&self) -> Value {
        let Self { allowed, rule, layer, grant, note, host, found } = self;
        json!({"allowed": allowed, "found": found, "rule": rule, "layer": layer, "suggestedCapability": grant,
            "note": note, "host": host})
    }

    fn line(&self, wish: &str, target: &Target) -> String {
        let Self { allowed, rule, layer: _, grant, note, host, found } = self;
        let because = rule.as_deref().unwrap_or("nothing allows it");
        let verdict = match (allowed, found) {
            (Some(true), Some(true)) => "allowed, it is there".to_owned(),
            (Some(true), Some(false)) => "would be allowed, nothing is there".to_owned(),
            (Some(true), None) => "allowed".to_owned(),
            (Some(false), Some(false)) => format!("nothing is there, {because}"),
            (Some(false), _) => format!("denied, {because}"),
            (None, _) => "not known before it is tried".to_owned(),
        };
        let host = host.as_ref().map(|host| format!(", on the host {host}")).unwrap_or_default();
        let way =
            grant.as_ref().and_then(|grant| pasteable(grant)).map(|grant| format!("; to allow it: --allow {grant}"));
        let note = note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        let line = format!("{wish} {target}: {verdict}{host}{}{note}", way.unwrap_or_default());
        on_one_line(&line) + "\n"
    }
}
