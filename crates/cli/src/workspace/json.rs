//! Changes as JSON: paths are text, or `{"hex": …}` where they are not.

use polder_workspace::{Forged, GitChange, Item, Line, Node, NodeKind, Relative, Text, Verdict, What, is_plain};
use serde_json::{Value, json};
use std::fmt::Write;

/// JSON with everything escaped that is not plain; outside of its texts there is nothing of that kind.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) {
            out.push(c);
        } else {
            let mut units = [0_u16; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    // A log that obeys commands finds this one anywhere in a line.
    out.replace("##[", "##\\u005b")
}

pub(crate) fn path(path: &Relative) -> Value {
    serde_json::to_value(path).unwrap_or(Value::Null)
}

fn node(node: &Node) -> Value {
    let mut told =
        json!({"kind": node.kind.name(), "mode": format!("{:04o}", node.stat.mode), "size_bytes": node.stat.size});
    if let NodeKind::Symlink(target) = &node.kind {
        told["target"] = serde_json::to_value(polder_workspace::Target::of(target)).unwrap_or(Value::Null);
    }
    told
}

pub(crate) fn item(item: &Item) -> Value {
    let change = &item.change;
    let mut told = json!({
        "path": path(&change.path),
        "what": change.what.name(),
        "before": change.before.as_ref().map(node),
        "after": change.after.as_ref().map(node),
        "held": item.held,
        "conflict": item.conflict,
        "refused": item.refused,
    });
    if let What::Renamed { from } = &change.what {
        told["from"] = path(from);
    }
    if let Some(note) = item.note {
        told["note"] = json!(note);
    }
    if let Some(bits) = item.stripped {
        told["stripped"] = json!(format!("{bits:04o}"));
    }
    told
}

/// Git's state in one repository.
pub(crate) fn git(change: &GitChange) -> Value {
    let refs = change.refs.iter().map(|moved| {
        let commits = moved
            .commits
            .iter()
            .map(|commit| json!({"id": commit.id, "author": commit.author, "subject": commit.subject}));
        json!({
            "name": moved.name, "before": moved.before, "after": moved.after, "commit_count": moved.count,
            "dropped_count": moved.dropped, "commits": commits.collect::<Vec<_>>(),
        })
    });
    let contained = change.contained.iter().map(|one| json!({"path": path(&one.path), "why": one.why}));
    let held_keys = change.held_keys.iter().map(|(key, why)| json!({"key": key, "why": why}));
    json!({
        "repository": change.repository.to_string_lossy(),
        "summary": change.summary(),
        "refs": refs.collect::<Vec<_>>(),
        "index": change.index,
        "keys": change.keys,
        "held_keys": held_keys.collect::<Vec<_>>(),
        "contained": contained.collect::<Vec<_>>(),
        "held": change.held,
        "conflict": change.conflict,
        "refused": change.refused,
    })
}

pub(crate) fn text(text: &Text) -> Value {
    let hunks = match text {
        Text::Hunks(hunks) => hunks,
        Text::Binary => return json!("binary"),
        Text::TooLarge => return json!("too large"),
        Text::Hidden => return json!("hidden"),
        Text::None => return Value::Null,
    };
    let told = hunks.iter().enumerate().map(|(index, hunk)| {
        let lines: Vec<Value> = hunk
            .lines
            .iter()
            .map(|line| {
                let (sign, bytes) = match line {
                    Line::Same(bytes) => (" ", bytes),
                    Line::Removed(bytes) => ("-", bytes),
                    Line::Added(bytes) => ("+", bytes),
                };
                json!(format!("{sign}{}", String::from_utf8_lossy(bytes)))
            })
            .collect();
        let range = |range: &std::ops::Range<usize>| json!({"start": range.start + 1, "count": range.len()});
        json!({"number": index + 1, "old": range(&hunk.old), "new": range(&hunk.new), "lines": lines})
    });
    Value::Array(told.collect())
}

pub(crate) fn forged(forged: &[Forged]) -> Vec<Value> {
    forged.iter().map(|forged| json!({"path": path(&forged.path), "why": forged.why})).collect()
}

pub(crate) fn verdict(verdict: &Verdict) -> (&'static str, Option<&str>) {
    match verdict {
        Verdict::Taken => ("applied", None),
        Verdict::NotChosen => ("not chosen", None),
        Verdict::Held(why) => ("held back", Some(why)),
        Verdict::Conflict(why) => ("conflict", Some(why)),
        Verdict::Refused(why) => ("refused", Some(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::escaped;
    use serde_json::{Value, json};

    #[test]
    fn json_says_the_same_and_nothing_to_a_terminal() {
        let value = json!({"path": "a\u{9b}31m\u{202e}b\u{e0041}\u{1b}", "plain": "ü\\ \"q\""});
        let text = escaped(&value.to_string());
        assert!(text.contains("\\u009b") && text.contains("\\u202e") && text.contains("ü"), "{text}");
        assert!(!text.chars().any(|c| !polder_workspace::is_plain(c)), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
