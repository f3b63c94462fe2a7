//! Plain text for people.

use polder::{Accepted, Unfit, Violation};
use std::collections::BTreeMap;
use std::io;

/// A reader that went away is not an error: `polder config show | head` is an ordinary call.
pub(crate) fn tolerate_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// What somebody must know before a run: that another engine does it than the first in line, and what it goes without.
pub(crate) fn before(engine: &str, passed_over: &[Unfit], accepted: &[Accepted]) -> Vec<String> {
    let instead = passed_over.iter().map(|unfit| format!("engine `{engine}`, because {}", unfit.in_short()));
    instead.chain(gaps(accepted)).collect()
}

/// What the policy goes without, one line per reason.
fn gaps(accepted: &[Accepted]) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for Accepted { guarantee, gap, .. } in accepted {
        let name = format!("`{guarantee}`");
        match groups.iter_mut().find(|(reason, _)| *reason == gap.reason) {
            Some((_, names)) => names.push(name),
            None => groups.push((&gap.reason, vec![name])),
        }
    }
    groups.into_iter().map(|(reason, names)| format!("without {}: {reason}", names.join(", "))).collect()
}

/// What was blocked and the flag that allows it, grouped, in at most `max` lines.
pub(crate) fn violations(violations: &[Violation], max: usize) -> Vec<String> {
    let mut groups: BTreeMap<(String, String), (u64, Option<String>)> = BTreeMap::new();
    for violation in violations {
        let done = if violation.layer == "sweep" { "set aside" } else { "blocked" };
        let key = (format!("{done} {} of", violation.action.name()), violation.target.clone());
        let grant = violation.grant.as_ref().map(ToString::to_string);
        let group = groups.entry(key).or_insert((0, grant));
        group.0 += violation.count;
    }
    let more = groups.len().saturating_sub(max);
    let mut lines: Vec<String> = groups
        .into_iter()
        .take(if more > 0 { max - 1 } else { max })
        .map(|((action, target), (count, grant))| {
            let times = if count > 1 { format!(" ({count} times)") } else { String::new() };
            let way = grant.map(|grant| format!("; --allow {grant} lets it")).unwrap_or_default();
            format!("{action} {target}{times}{way}")
        })
        .collect();
    if more > 0 {
        lines.push(format!("and {} more things were blocked; --json lists them", more + 1));
    }
    lines
}

/// Where the changes are that a run left beside the real tree, and what to do next.
pub(crate) fn changes(workspace: Option<&str>) -> Option<String> {
    let name = workspace?;
    Some(format!("changes are in the workspace {name}, not in the tree; `polder workspace diff {name}` shows them"))
}

#[cfg(test)]
mod tests;
