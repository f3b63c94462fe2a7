//! Changes as JSON: paths are text, or `{"hex": …}` where they are not.

use polder_workspace::{Forged, Item, Line, Node, NodeKind, Relative, Text, Verdict, What};
use serde_json::{Value, json};

pub(crate) fn path(path: &Relative) -> Value {
    serde_json::to_value(path).unwrap_or(Value::Null)
}

fn node(node: &Node) -> Value {
    let mut told =
        json!({"kind": node.kind.name(), "mode": format!("{:04o}", node.stat.mode), "size_bytes": node.stat.size});
    if let NodeKind::Symlink(target) = &node.kind {
        told["target"] = json!(target.to_string_lossy());
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
    if let Some(bits) = item.stripped {
        told["stripped"] = json!(format!("{bits:04o}"));
    }
    told
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
