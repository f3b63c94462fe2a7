//! GitHub Actions: groups, marks and a summary of the job. What a step writes is text there, never a command.
//!
//! The runner obeys lines of the log that begin with `::` or hold `##[`. Between `::stop-commands::TOKEN` and `::TOKEN::` it
//! obeys nobody; the token is random and never enters a sandbox.

use super::summary;
use crate::exit::Failure;
use polder::StepResult;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The variable that names the summary of the job.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";
/// The longest event that is read.
const EVENT_BYTES_MAX: u64 = 4 * 1024 * 1024;

pub(super) fn is_here() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// A word that nobody can guess.
pub(super) fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The text of a command of ours.
pub(super) fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A line of ours that holds words of others: no part of it is a command.
pub(super) fn harmless(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let line = line.replace("##[", "## [");
        if line.trim_start().starts_with("::") { format!("|{line}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A mark for a step that did not pass.
pub(super) fn annotation(result: &StepResult) -> String {
    let kind = match result.status {
        polder::Status::Skipped(_) => "notice",
        _ => "error",
    };
    let title = format!("step {} {}", result.name, result.status.name());
    format!("::{kind} title={}::{}", property(&title), data(&result.status.detail()))
}

/// The summary of the job, held open.
pub(super) struct JobSummary {
    path: PathBuf,
    file: File,
}

impl JobSummary {
    /// Where there is one. Before anything runs, as with a report: that it cannot be written would be missed only at the end.
    pub(super) fn prepare() -> Result<Option<Self>, Failure> {
        let named = std::env::var_os(SUMMARY).filter(|path| is_here() && !path.is_empty());
        let Some(path) = named.map(PathBuf::from) else { return Ok(None) };
        match OpenOptions::new().append(true).create(true).open(&path) {
            Ok(file) => Ok(Some(Self { path, file })),
            Err(error) => Err(unwritten(&path, &error)),
        }
    }

    /// Adds a table.
    pub(super) fn add(mut self, results: &[StepResult]) -> Result<(), Failure> {
        self.file.write_all(markdown(results).as_bytes()).map_err(|error| unwritten(&self.path, &error))
    }
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    Failure::new(format!(
        "cannot write the job's summary `{path}`: {error}; let {SUMMARY} name a file that can be written, or unset it"
    ))
}

pub(super) fn markdown(results: &[StepResult]) -> String {
    let mut text = String::from("### polder steps\n\n| step | result | time | engine | why |\n|---|---|---|---|---|\n");
    for result in results {
        let ran = result.engine.is_some();
        let time = if ran { summary::seconds(result.took) } else { String::new() };
        let engine = result.engine.clone().unwrap_or_default();
        let cells = [&result.name, result.status.name(), &time, &engine, &result.status.detail()].map(cell);
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text.push_str(&format!("\n{}\n", cell(&summary::counts(results))));
    text
}

/// Text that stays inside its cell.
fn cell(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '!' | '@' => safe.extend(['\\', c]),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// What `pr` stands for: the pull request of the event that started the job. An event that cannot be read is an error: a
/// condition about a pull request must not take one for none.
pub(super) fn pull_request() -> Result<Option<Value>, Failure> {
    let Some(path) = std::env::var_os("GITHUB_EVENT_PATH").filter(|path| is_here() && !path.is_empty()) else {
        return Ok(None);
    };
    let shown = Path::new(&path).display().to_string();
    let mut text = String::new();
    let read = File::open(&path).and_then(|file| file.take(EVENT_BYTES_MAX + 1).read_to_string(&mut text));
    let wrong = |why: &dyn std::fmt::Display| Failure::new(format!("cannot read the event `{shown}`: {why}"));
    if read.map_err(|error| wrong(&error))? as u64 > EVENT_BYTES_MAX {
        return Err(wrong(&format!("it has more than {EVENT_BYTES_MAX} bytes")));
    }
    let event: Value = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    Ok(event.get("pull_request").filter(|pr| pr.is_object()).map(|pr| {
        json!({
            "number": pr["number"],
            "title": pr["title"],
            "body": pr["body"],
            "author": pr["user"]["login"],
            "branch": pr["head"]["ref"],
            "base": pr["base"]["ref"],
        })
    }))
}

#[cfg(test)]
mod tests;
