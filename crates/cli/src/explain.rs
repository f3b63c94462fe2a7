//! `polder explain`: the whole story of a run that is over, from its record.

mod story;

use crate::args::ExplainArgs;
use crate::exit::Failure;
use crate::render::pager::{Listing, Paging};
use crate::workspace::escaped;
use polder::records::{self, Records};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;

pub(crate) fn explain(args: &ExplainArgs) -> Result<u8, Failure> {
    let ExplainArgs { run, list, json, no_pager } = args;
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let directory = records::directory(&environment).ok_or_else(|| {
        Failure::new("there is no home directory that could hold records; set HOME or XDG_STATE_HOME")
    })?;
    let records = Records::at(directory);
    let mut runs = records.runs()?;
    runs.reverse();
    let text = if *list {
        let all = runs.iter().map(|run| read(&records, run)).collect::<Result<Vec<Value>, _>>()?;
        if *json {
            Value::Array(all.iter().map(summary).collect()).to_string()
        } else {
            all.iter().map(story::line).collect()
        }
    } else {
        let record = read(&records, chosen(&runs, run.as_deref())?)?;
        if *json { record.to_string() } else { story::story(&record) }
    };
    let text = if *json { escaped(&text) } else { text };
    if !text.is_empty() {
        let mut listing = Listing::begin(Paging::of(*no_pager, *json));
        listing.line(text.trim_end_matches('\n'))?;
        listing.end()?;
    }
    Ok(0)
}

/// The run that is meant, of those that are kept.
fn chosen<'a>(runs: &'a [String], asked: Option<&str>) -> Result<&'a str, Failure> {
    let kept = "kept are runs in which something was denied or which did not end with 0";
    let Some(asked) = asked else {
        return runs
            .first()
            .map(String::as_str)
            .ok_or_else(|| Failure::new(format!("there is no run to explain: {kept}")));
    };
    if let Some(run) = runs.iter().find(|run| *run == asked) {
        return Ok(run);
    }
    let mut alike = runs.iter().filter(|run| !asked.is_empty() && run.starts_with(asked));
    match (alike.next(), alike.count()) {
        (Some(run), 0) => Ok(run),
        (None, _) => {
            Err(Failure::new(format!("no record of a run `{asked}`: {kept}; `polder explain --list` lists them")))
        }
        (Some(_), more) => {
            Err(Failure::new(format!("`{asked}` is the beginning of {} runs; say more of it", more + 1)))
        }
    }
}

fn read(records: &Records, run: &str) -> Result<Value, Failure> {
    let text = records
        .read(run)?
        .ok_or_else(|| Failure::new(format!("the record of `{run}` is gone; newer ones took its place")))?;
    serde_json::from_str(&text).map_err(|error| Failure::new(format!("the record of `{run}` cannot be read: {error}")))
}

/// What a list says of a run.
fn summary(record: &Value) -> Value {
    json!({
        "run": record["run"],
        "time": record["time"],
        "command": record["command"],
        "workspace": record["workspace"],
        "engine": record["engine"]["id"],
        "outcome": record["outcome"],
    })
}
