//! `polder audit`: what ran, and whether the record of it is whole.

use crate::args::{AuditArgs, AuditExportArgs, AuditHeadArgs, AuditShowArgs, AuditVerb, AuditVerifyArgs};
use crate::exit::{Failure, printable};
use crate::render::pager::{Listing, Paging};
use crate::render::text::tolerate_closed;
use polder_audit::{Log, Verified, verify};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};

pub(crate) fn audit(args: AuditArgs) -> Result<u8, Failure> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let log = polder::audit::log(&environment)
        .ok_or_else(|| Failure::new("there is no home directory that could hold a log; set HOME or XDG_STATE_HOME"))?;
    match args.verb {
        AuditVerb::Show(args) => show(&log, &args),
        AuditVerb::Verify(args) => check(&log, &args),
        AuditVerb::Export(args) => export(&log, &args),
        AuditVerb::Head(args) => head(&log, &args),
    }
}

fn print(lines: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for line in lines {
        tolerate_closed(writeln!(out, "{line}"))?;
    }
    Ok(())
}

/// A line that is no record is shown as what it is; `verify` says what that means.
fn records(log: &Log) -> Result<Vec<(String, Option<Value>)>, Failure> {
    let lines = log.lines()?;
    let texts = lines.iter().map(|line| String::from_utf8_lossy(line).into_owned());
    Ok(texts
        .map(|text| {
            let value = serde_json::from_str(&text).ok();
            (text, value)
        })
        .collect())
}

fn show(log: &Log, args: &AuditShowArgs) -> Result<u8, Failure> {
    let records = records(log)?;
    let newest = records.iter().skip(records.len().saturating_sub(args.last));
    let mut listing = Listing::begin(Paging::of(args.no_pager, args.json));
    for (text, value) in newest {
        listing.line(&match value {
            _ if args.json => text.clone(),
            Some(value) => printable(&line(value)),
            None => "(a line that is no record)".to_owned(),
        })?;
    }
    listing.end()?;
    Ok(0)
}

/// One record in one line.
fn line(record: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let data = &record["data"];
    let rest = match record["kind"].as_str() {
        Some("run-begin") => {
            let accepted = data["accepted"].as_array().map_or(0, Vec::len);
            let without = if accepted > 0 { format!(", without {accepted} guarantees") } else { String::new() };
            format!(
                "engine {}, network {}{without}, in {}",
                text(&data["engine"]),
                text(&data["network"]),
                text(&data["workspace"])
            )
        }
        Some("run-end") => match &data["outcome"]["error"] {
            Value::String(error) => format!("of {}: {error}", data["begin"]),
            _ => format!("of {}: exit code {}", data["begin"], data["outcome"]["exitCode"]),
        },
        Some("apply") => {
            let (verb, workspace, root) = (text(&data["verb"]), text(&data["workspace"]), text(&data["root"]));
            format!("{verb} of {workspace}, {} paths, in {root}", data["count"])
        }
        Some("anchor-renewed") => format!("the anchor was gone after record {}, and is written anew", data["after"]),
        Some("grant") => format!("{} of {} ({})", text(&data["verb"]), text(&data["path"]), text(&data["project"])),
        _ => data.to_string(),
    };
    format!("{:>6}  {}  {:<9}  {rest}", record["seq"].to_string(), text(&record["time"]), text(&record["kind"]))
}

fn check(log: &Log, args: &AuditVerifyArgs) -> Result<u8, Failure> {
    let Verified { records, head, anchored, findings } = verify(log, args.head.as_ref())?;
    let told: Vec<String> = findings.iter().map(ToString::to_string).collect();
    if args.json {
        let (ok, head) = (findings.is_empty(), head.as_deref());
        let value = json!({"ok": ok, "records": records, "head": head, "anchored": anchored, "findings": told});
        print([value.to_string()])?;
    } else if findings.is_empty() {
        let head = head.map(|head| format!(", the last one is {head}")).unwrap_or_default();
        let vouched = match anchored {
            Some(seq) if seq == records => String::new(),
            Some(seq) => format!("; its anchor vouches for the first {seq}"),
            None => "; it has no anchor, so a log that was removed would look the same".to_owned(),
        };
        print([format!("ok: {records} records{head}{vouched}")])?;
    } else {
        print(told.into_iter().map(|finding| format!("not whole: {finding}")))?;
    }
    Ok(u8::from(!findings.is_empty()))
}

/// The end of the log, for a place that this machine cannot write. A log that is not whole has none to be kept.
fn head(log: &Log, args: &AuditHeadArgs) -> Result<u8, Failure> {
    let Verified { records, head, findings, .. } = verify(log, None)?;
    if let Some(first) = findings.first() {
        return Err(Failure::new(format!("the log is not whole: {first}; `polder audit verify` says more")));
    }
    let hash = head.unwrap_or_else(|| polder_audit::BEGINNING.to_owned());
    print([if args.json {
        json!({"records": records, "hash": hash, "head": format!("{records}:{hash}")}).to_string()
    } else {
        format!("{records}:{hash}")
    }])?;
    Ok(0)
}

fn export(log: &Log, args: &AuditExportArgs) -> Result<u8, Failure> {
    let AuditExportArgs { after, json: _ } = args;
    let newer =
        |value: &Option<Value>| value.as_ref().is_none_or(|value| value["seq"].as_u64().is_none_or(|seq| seq > *after));
    print(records(log)?.into_iter().filter(|(_, value)| newer(value)).map(|(text, _)| text))?;
    Ok(0)
}
