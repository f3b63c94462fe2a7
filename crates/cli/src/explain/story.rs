//! A record in words: what was denied by layer and by rule, what enforced the policy, and the plan.
//!
//! Names in a record are those that the command chose. Whatever is printed has its control characters made visible, and a
//! grant that holds any is not offered for pasting.

use crate::exit::{on_one_line, printable};
use crate::render::text::pasteable;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A run in one line.
pub(super) fn line(record: &Value) -> String {
    let blocked = violations(record).count();
    let blocked = if blocked > 0 { format!(", {blocked} denied") } else { String::new() };
    let (run, time) = (word(&record["run"]), word(&record["time"]));
    format!("{run}  {time}  {}: {}{blocked}\n", word(&record["command"]["name"]), ending(&record["outcome"]))
}

/// All of it.
pub(super) fn story(record: &Value) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<12}{value}");
    };
    row("run", format!("{} at {}", word(&record["run"]), word(&record["time"])));
    row("command", format!("{} ({} words)", word(&record["command"]["name"]), record["command"]["words"]));
    row("workspace", word(&record["workspace"]));
    row("engine", format!("{} ({})", word(&record["engine"]["id"]), word(&record["engine"]["reason"])));
    row("ended", ending(&record["outcome"]));
    row("observed", observed(record));
    text.push_str(&denied(record));
    text.push_str(&enforced(record));
    let _ = writeln!(text, "\nplan {}", word(&record["hash"]));
    for line in record["plan"].as_array().into_iter().flatten() {
        let _ = writeln!(text, "  {}", word(line));
    }
    left_out(&mut text, &record["planLinesLeftOut"], "lines of the plan");
    text
}

fn violations(record: &Value) -> impl Iterator<Item = &Value> {
    record["violations"].as_array().into_iter().flatten()
}

/// A text of the record, on one line.
fn word(value: &Value) -> String {
    on_one_line(value.as_str().unwrap_or("-"))
}

fn left_out(text: &mut String, count: &Value, what: &str) {
    if let Some(count) = count.as_u64().filter(|count| *count > 0) {
        let _ = writeln!(text, "  and {count} more {what} that were not kept");
    }
}

fn ending(outcome: &Value) -> String {
    if outcome["error"].is_string() {
        return format!("not started: {}", word(&outcome["error"]));
    }
    let state = match outcome["state"].as_str() {
        Some("exited") => format!("exit code {}", outcome["exitCode"]),
        Some("signalled") => format!("ended by signal {}", outcome["signal"]),
        Some("interrupted") => format!("interrupted by signal {}", outcome["signal"]),
        Some("not-found") => "there is no such command inside".to_owned(),
        Some(_) | None => word(&outcome["state"]),
    };
    let limit = outcome["limit"].as_str().map(|limit| format!(", the {} limit was reached", printable(limit)));
    format!("{state} after {} ms{}", outcome["wallMs"], limit.unwrap_or_default())
}

fn observed(record: &Value) -> String {
    match record["observe"].as_str() {
        Some("exact") => {
            "exact: nearly everything that is denied was looked at; docs/violations.md says what was not".to_owned()
        }
        Some("cheap") => {
            "cheap: reading, removing, changing rights and much of writing were not watched; `polder again` sees them"
                .to_owned()
        }
        Some("off") => "off: little is seen; `polder again` sees nearly everything".to_owned(),
        Some(_) | None => word(&record["observe"]),
    }
}

/// What was denied, by layer, then by rule.
fn denied(record: &Value) -> String {
    let mut layers: BTreeMap<String, BTreeMap<String, Vec<&Value>>> = BTreeMap::new();
    for violation in violations(record) {
        let (layer, rule) = (word(&violation["layer"]), word(&violation["rule"]));
        layers.entry(layer).or_default().entry(rule).or_default().push(violation);
    }
    if layers.is_empty() {
        return "\nnothing was seen that was denied\n".to_owned();
    }
    let mut text = String::new();
    for (layer, rules) in layers {
        let _ = writeln!(text, "\ndenied by {layer}");
        for (rule, violations) in rules {
            let _ = writeln!(text, "  rule: {rule}");
            violations.into_iter().for_each(|violation| one(&mut text, violation));
        }
    }
    left_out(&mut text, &record["violationsLeftOut"], "denials");
    // A grant with a risk has a note, and is not offered together with the rest.
    let light = violations(record).filter(|violation| violation["note"].is_null());
    let grants: BTreeSet<&str> = light.filter_map(|violation| violation["suggestedCapability"].as_str()).collect();
    // A grant that names a rule and no path of the host lifts a protection.
    let (lifting, grants): (BTreeSet<&str>, BTreeSet<&str>) = grants
        .into_iter()
        .partition(|grant| grant.strip_prefix("fs.write=").is_some_and(|path| !path.starts_with('/')));
    let flags: Vec<String> =
        grants.iter().filter_map(|grant| pasteable(grant)).map(|grant| format!("--allow {grant}")).collect();
    if !flags.is_empty() {
        let _ = writeln!(
            text,
            "\nto allow what has no known risk (not verified: `polder again` tries it)\n  {}",
            flags.join(" ")
        );
    }
    for grant in lifting {
        let why = "it lifts a protection: programs of the host run or obey what is written there";
        let _ = writeln!(text, "\nnot offered: {} ({why})", on_one_line(grant));
    }
    text
}

fn one(text: &mut String, violation: &Value) {
    let times = violation["count"].as_u64().filter(|count| *count > 1).map(|count| format!(", {count} times"));
    let by = violation["exe"].as_str().map(|exe| format!(", by {}", on_one_line(exe)));
    let pid = violation["pid"].as_u64().map(|pid| format!(" (process {pid} inside)"));
    let rest = [times, by, pid].into_iter().flatten().collect::<String>();
    let _ = writeln!(text, "    {} of {}{rest}", word(&violation["action"]), word(&violation["target"]));
    let flag = violation["suggestedCapability"].as_str().and_then(pasteable);
    match flag {
        Some(flag) => drop(writeln!(text, "      allow: --allow {flag}")),
        None => text.push_str("      allow: no grant does\n"),
    }
    if violation["note"].is_string() {
        let _ = writeln!(text, "      note:  {}", word(&violation["note"]));
    }
}

fn enforced(record: &Value) -> String {
    let mut text = String::from("\nguarantees\n");
    for (guarantee, verdict) in record["report"].as_object().into_iter().flatten() {
        let told = match verdict["verdict"].as_str() {
            Some("enforced") => format!("enforced by {}", word(&verdict["by"])),
            Some("weaker") => format!("weaker: {}, but {}", word(&verdict["by"]), word(&verdict["reason"])),
            Some(_) | None => format!("cannot: {}", word(&verdict["reason"])),
        };
        let _ = writeln!(text, "  {:<14}{told}", printable(guarantee));
    }
    text
}

#[cfg(test)]
mod tests;
