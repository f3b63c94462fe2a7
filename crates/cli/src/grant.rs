//! `polder grant`: what would be added to a run, and why no run takes it.
//!
//! Mounts, Landlock rules and filters are fixed before a command starts, and every layer is made so that nothing can be
//! added from anywhere afterwards. So the answer is always the flag of a new run. Nothing is granted here, and nothing is
//! audited.

use crate::args::GrantArgs;
use crate::exit::{FAILED, Failure, say};
use crate::render::text::{home, pasteable, tolerate_closed};
use crate::workspace::escaped;
use polder::records::{self, Records};
use polder::{Grant, risk};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};

pub(crate) fn grant(args: &GrantArgs) -> Result<u8, Failure> {
    let GrantArgs { run, grant, span, once: _, json } = args;
    if let Some(text) = span {
        text.parse::<polder::Span>().map_err(|error| Failure::new(format!("--for `{text}`: {error}")))?;
    }
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    // Only runs that are over have a record.
    let records = records::directory(&environment).map(Records::at);
    let is_over = match &records {
        Some(records) => records.read(run)?.is_some(),
        None => false,
    };
    let why = if is_over {
        format!("the run `{run}` is over")
    } else {
        format!(
            "nothing can be added to the run `{run}` while it runs: its rules were fixed before the command started"
        )
    };
    let flag = pasteable(&grant.to_string())
        .map(|grant| format!("--allow {grant}"))
        .ok_or_else(|| Failure::new("the grant holds characters that cannot be seen; nobody should grant that"))?;
    let note = sensitive(grant);
    if *json {
        let told = json!({"granted": false, "run": run, "reason": why, "flag": flag, "note": note});
        tolerate_closed(writeln!(io::stdout().lock(), "{}", escaped(&told.to_string())))?;
    } else {
        let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
        say(&format!("{why}; it needs a new run, with {flag}{note}"));
    }
    Ok(FAILED)
}

fn sensitive(grant: &Grant) -> Option<String> {
    match grant {
        Grant::FsRead(path) | Grant::FsWrite(path) => risk(path, &home()).map(|why| format!("risk: {why}")),
        Grant::NetFull => Some("risk: it opens the host's whole network".to_owned()),
        Grant::NetConnect(_) | Grant::Env(_) | Grant::Limit { .. } => None,
    }
}
