//! Plain text for people.

use polder::{Accepted, Action, Grant, Unfit, Violation, risk};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

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

/// The caller's home, for what must not be granted lightly.
pub(crate) fn home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| PathBuf::from("/nonexistent"), PathBuf::from)
}

/// What was blocked and the flag that allows it, grouped, in at most `max` lines.
pub(crate) fn violations(violations: &[Violation], home: &Path, max: usize) -> Vec<String> {
    let groups = group(violations, home);
    let more = groups.len().saturating_sub(max);
    let kept = if more > 0 { max - 1 } else { max };
    let mut lines: Vec<String> = groups.iter().take(kept).map(Group::line).collect();
    if more > 0 {
        lines.push(format!("and {} more things were blocked; `polder explain` lists them", more + 1));
    }
    lines
}

/// Things that were blocked alike and that one grant allows.
struct Group {
    what: String,
    targets: Vec<String>,
    count: u64,
    grant: Option<Grant>,
    note: Option<String>,
}

/// One group for each target, and one for several files of a directory, if that is nothing that holds secrets.
fn group(violations: &[Violation], home: &Path) -> Vec<Group> {
    let mut siblings: BTreeMap<(Action, &Path), BTreeSet<&str>> = BTreeMap::new();
    // What somebody should think about first is not given away with what lies beside it.
    let noted = violations.iter().filter(|violation| violation.note.is_some());
    let apart: Vec<&Path> = noted.filter_map(|violation| path(violation)).collect();
    let directory = |violation| {
        directory(violation, home).filter(|directory| !apart.iter().any(|path| path.starts_with(directory)))
    };
    for violation in violations {
        if let Some(directory) = directory(violation) {
            siblings.entry((violation.action, directory)).or_default().insert(&violation.target);
        }
    }
    let mut groups: BTreeMap<(String, String), Group> = BTreeMap::new();
    for violation in violations.iter().filter(|violation| !is_told_elsewhere(violation)) {
        let done = if violation.layer == "sweep" { "set aside" } else { "blocked" };
        let what = format!("{done} {} of", violation.action.name());
        let together = directory(violation)
            .filter(|directory| siblings[&(violation.action, *directory)].len() > 1)
            .map(|directory| (directory.display().to_string(), of_directory(violation, directory)));
        let (key, grant) = match together {
            Some((directory, grant)) => (directory, Some(grant)),
            None => (violation.target.clone(), violation.grant.clone()),
        };
        let fresh = || Group { what: what.clone(), targets: Vec::new(), count: 0, grant, note: violation.note.clone() };
        let group = groups.entry((what.clone(), key)).or_insert_with(fresh);
        group.count += violation.count;
        if !group.targets.contains(&violation.target) {
            group.targets.push(violation.target.clone());
        }
    }
    groups.into_values().collect()
}

/// A limit has its own line.
fn is_told_elsewhere(violation: &Violation) -> bool {
    violation.action == Action::Limit && violation.grant.is_some()
}

/// The directory whose grant would allow this and its siblings; `None` where that would be too much, and where the grant
/// is that of a directory already, because something in it is to be made or removed.
fn directory<'a>(violation: &'a Violation, home: &Path) -> Option<&'a Path> {
    let path = path(violation).filter(|path| *path == Path::new(&violation.target))?;
    let parent = path.parent().filter(|parent| path.is_absolute() && parent.components().count() > 2)?;
    (violation.action != Action::Network && risk(parent, home).is_none()).then_some(parent)
}

/// The path that a grant would give.
fn path(violation: &Violation) -> Option<&Path> {
    match violation.grant.as_ref()? {
        Grant::FsRead(path) | Grant::FsWrite(path) => Some(path),
        Grant::NetConnect(_) | Grant::NetFull | Grant::Env(_) | Grant::Limit { .. } => None,
    }
}

fn of_directory(violation: &Violation, directory: &Path) -> Grant {
    match violation.grant {
        Some(Grant::FsWrite(_)) => Grant::FsWrite(directory.to_owned()),
        _ => Grant::FsRead(directory.to_owned()),
    }
}

impl Group {
    fn line(&self) -> String {
        let Self { what, targets, count, grant, note } = self;
        let target = match targets.as_slice() {
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first} and {} more beside it", rest.len()),
            [] => String::new(),
        };
        let times = if *count > targets.len() as u64 { format!(" ({count} times)") } else { String::new() };
        let flag = grant.as_ref().and_then(|grant| pasteable(&grant.to_string()));
        let way = flag.map(|grant| format!("; --allow {grant} lets it")).unwrap_or_default();
        let note = note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        format!("{what} {target}{times}{way}{note}")
    }
}

/// A text as a shell takes it for one word; `None` if it holds what should not be pasted.
pub(crate) fn pasteable(text: &str) -> Option<String> {
    if !text.chars().all(polder_workspace::is_plain) {
        return None;
    }
    let plain = |c: char| c.is_alphanumeric() || "=/._-+:@%,".contains(c);
    Some(if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) })
}

/// Where the changes are that a run left beside the real tree, and what to do next.
pub(crate) fn changes(workspace: Option<&str>) -> Option<String> {
    let name = workspace?;
    Some(format!("changes are in the workspace {name}, not in the tree; `polder workspace diff {name}` shows them"))
}

#[cfg(test)]
mod tests;
