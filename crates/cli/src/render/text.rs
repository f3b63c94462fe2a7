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
    let kept = if more > 0 { max.saturating_sub(1) } else { max };
    let mut lines: Vec<String> = groups.iter().take(kept).map(Group::line).collect();
    if more > 0 {
        lines.push(format!("and {} more things were blocked; `polder explain` lists them", more + 1));
    }
    lines
}

/// Things that one grant allows, or one thing that none does.
struct Group {
    done: &'static str,
    actions: Vec<Action>,
    targets: Vec<String>,
    count: u64,
    grant: Option<Grant>,
    note: Option<String>,
}

/// One group for each grant, so that no flag is said twice. Several files of a directory need the directory, if that is
/// nothing that holds secrets.
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
    let mut groups: BTreeMap<(&str, Key), Group> = BTreeMap::new();
    for violation in violations.iter().filter(|violation| !is_told_elsewhere(violation)) {
        let done = match violation.layer.as_str() {
            "sweep" | "watch" => "set aside",
            "the observer" if violation.action == Action::Syscall => "could not watch",
            _ => "blocked",
        };
        let grant = directory(violation)
            .filter(|directory| siblings[&(violation.action, *directory)].len() > 1)
            .map_or_else(|| violation.grant.clone(), |directory| Some(of_directory(violation, directory)));
        let key = match &grant {
            Some(grant) => Key::Allowed(grant.to_string()),
            None => Key::Refused(violation.action, violation.target.clone()),
        };
        let group = groups.entry((done, key)).or_insert_with(|| Group::new(done, grant));
        group.add(violation);
    }
    groups.into_values().collect()
}

/// What makes two violations one line.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// This grant allows both.
    Allowed(String),
    /// They are the same, and nothing allows them.
    Refused(Action, String),
}

/// The flag that raises a limit which was reached, with its next step.
pub(crate) fn next_step(violations: &[Violation], limit: &str) -> Option<String> {
    let reached = violations.iter().find(|violation| violation.action == Action::Limit && violation.target == limit);
    match reached?.grant.as_ref()? {
        Grant::Limit { name, value } => Some(format!("--{name} {value}")),
        Grant::FsRead(_) | Grant::FsWrite(_) | Grant::NetConnect(_) | Grant::NetFull | Grant::Env(_) => None,
    }
}

/// The bound of a limit that was reached, with its key: `limits.memory: 10M`.
pub(crate) fn bound<'a>(violations: &'a [Violation], limit: &str) -> Option<&'a str> {
    let reached = violations.iter().find(|violation| violation.action == Action::Limit && violation.target == limit)?;
    reached.rule.split(" (").next()
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
    const fn new(done: &'static str, grant: Option<Grant>) -> Self {
        Self { done, actions: Vec::new(), targets: Vec::new(), count: 0, grant, note: None }
    }

    fn add(&mut self, violation: &Violation) {
        self.count += violation.count;
        if !self.actions.contains(&violation.action) {
            self.actions.push(violation.action);
        }
        if !self.targets.contains(&violation.target) {
            self.targets.push(violation.target.clone());
        }
        // Whoever has something to think about says so for all of them.
        self.note = self.note.take().or_else(|| violation.note.clone());
    }

    fn line(&self) -> String {
        let Self { done, actions, targets, count, grant, note } = self;
        let what: Vec<&str> = actions.iter().map(|action| action.words().0).collect();
        let leading = actions.last().map_or("of", |action| action.words().1);
        let what = match *done {
            "blocked" => format!("{done} {} {leading}", what.join(" and ")).trim_end().to_owned(),
            done => done.to_owned(),
        };
        let parent = |target: &String| Path::new(target).parent().map(Path::to_owned);
        let target = match targets.as_slice() {
            [one] => one.clone(),
            [first, rest @ ..] => {
                let beside = rest.iter().all(|other| other.contains('/') && parent(other) == parent(first));
                format!("{first} and {} more{}", rest.len(), if beside { " beside it" } else { "" })
            }
            [] => String::new(),
        };
        let times = if *count > targets.len() as u64 { format!(" ({count} times)") } else { String::new() };
        let flag = grant.as_ref().and_then(|grant| pasteable(&grant.to_string()));
        let way = flag.map(|grant| format!("; to allow it: --allow {grant}")).unwrap_or_default();
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
