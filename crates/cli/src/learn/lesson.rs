//! From what a command was denied to what it needs. Pure.
//!
//! What holds keys, tokens, passwords, sessions or what somebody typed is never granted by itself, and neither is what lifts
//! a protection, opens the whole network, leads to a service of the host, or lets the command change what is on the host: it
//! is listed, and a person decides. What is granted here is given to the very next run, before anybody has read it. The
//! names are those that the command chose, so what cannot be written down plainly is not granted either.

use super::given::Given;
use polder::{Grant, Planned, Violation};
use polder_workspace::is_plain;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// So many files of one directory are the directory.
const SIBLINGS_MIN: usize = 3;
/// What is remembered of one kind; who asks for more asks for too much.
const ENTRIES_MAX: usize = 1000;

/// Who gave what nobody asked for.
const BY_HAND: &str = "given with --allow";

/// What somebody should think of before a path is granted for reading; it looks at the host. Nothing if there is nothing.
pub(super) type Worry<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// What was learnt of a command, over all its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lesson {
    /// How many runs it comes from.
    pub(super) runs: u64,
    /// Grants, each with who asked for it.
    pub(super) granted: BTreeMap<String, String>,
    /// Grants that nobody but the user gives, each with why.
    pub(super) held: BTreeMap<String, String>,
    /// What no grant allows, each with why.
    pub(super) refused: BTreeMap<String, String>,
    /// The binds and profiles of the calls.
    pub(super) given: Given,
}

impl Lesson {
    pub(super) fn nothing() -> Self {
        Self {
            runs: 0,
            granted: BTreeMap::new(),
            held: BTreeMap::new(),
            refused: BTreeMap::new(),
            given: Given::default(),
        }
    }

    /// Whether nothing was ever asked for or given.
    pub(super) fn is_empty(&self) -> bool {
        let Self { runs: _, granted, held, refused, given } = self;
        granted.is_empty() && held.is_empty() && refused.is_empty() && given.is_empty()
    }

    /// Adds the binds and profiles of a call.
    pub(super) fn give_places(&mut self, planned: &Planned) {
        for path in self.given.add(planned) {
            put(&mut self.refused, format!("--bind {path}"), "its name cannot be written down plainly".to_owned());
        }
    }

    /// Adds what the user gives by hand: that was thought about.
    pub(super) fn give(&mut self, grant: &Grant) {
        let (key, by) = (grant.to_string(), BY_HAND.to_owned());
        let can_be_written = match grant {
            Grant::FsRead(path) | Grant::FsWrite(path) => path.is_absolute() && key.chars().all(is_plain),
            Grant::Limit { .. } => true,
            // What a file says about these, it says in other words; a person does.
            Grant::NetConnect(_) | Grant::NetFull | Grant::Env(_) => false,
        };
        if can_be_written {
            self.held.remove(&key);
            self.granted.insert(key, by);
        }
    }

    /// Takes back what nobody would grant any more: a command may have put something else in its place since.
    pub(super) fn review(&mut self, worry: Worry<'_>) {
        let Self { runs: _, granted, held, refused: _, given: _ } = self;
        granted.retain(|key, by| {
            let grant = key.parse::<Grant>().ok();
            let why = grant.as_ref().and_then(read).and_then(worry).filter(|_| by != BY_HAND);
            if let Some(why) = &why {
                put(held, key.clone(), why.clone());
            }
            why.is_none()
        });
    }

    /// Adds the program that the command begins with, where the policy does not show it.
    pub(super) fn begin(&mut self, program: Option<PathBuf>, worry: Worry<'_>) {
        let Some(path) = program else { return };
        let key = Grant::FsRead(path.clone()).to_string();
        match worry(&path) {
            Some(why) => put(&mut self.held, key, why),
            None if key.chars().all(is_plain) => put(&mut self.granted, key, "it is the command itself".to_owned()),
            None => put(&mut self.held, key, "its name cannot be written down plainly".to_owned()),
        }
    }

    /// Adds one run; says whether the next one may come further.
    pub(super) fn add(&mut self, violations: &[Violation], worry: Worry<'_>) -> bool {
        self.runs += 1;
        let before = self.grants(worry);
        for violation in violations {
            self.one(violation, worry);
        }
        self.grants(worry) != before
    }

    fn one(&mut self, violation: &Violation, worry: Worry<'_>) {
        let Violation { action, target, exe, grant, note, .. } = violation;
        let what = format!("{} of {target}", action.name());
        let Some(grant) = grant else {
            let why = note.clone().unwrap_or_else(|| "no grant allows it".to_owned());
            return put(&mut self.refused, what, why);
        };
        let key = grant.to_string();
        if !key.chars().all(is_plain) {
            return put(&mut self.held, key, "its name cannot be written down plainly".to_owned());
        }
        let by = exe.as_deref().map(|exe| format!("{what}, by {exe}")).unwrap_or(what);
        let held = match grant {
            // What was denied was looked at, too.
            Grant::FsRead(path) if path.is_absolute() => worry(path).or_else(|| note.clone()),
            Grant::FsWrite(path) if path.is_absolute() => {
                Some(worry(path).unwrap_or_else(|| "the command would change what is on the host".to_owned()))
            }
            Grant::FsRead(_) | Grant::FsWrite(_) => {
                Some("it lifts a protection, which a file cannot; a flag can".to_owned())
            }
            Grant::NetFull => Some(format!("it opens the host's whole network; asked for was {target}")),
            Grant::Env(_) => Some("a variable may hold a secret".to_owned()),
            Grant::NetConnect(_) => None,
            Grant::Limit { name, .. } => {
                // One step follows the other; the last one counts.
                self.granted.retain(|known, _| !known.starts_with(&format!("limits.{name}=")));
                None
            }
        };
        match held {
            Some(why) => put(&mut self.held, key, why),
            None => put(&mut self.granted, key, by),
        }
    }

    /// The fewest grants that cover what was granted: a directory for several of its files, nothing twice.
    pub(super) fn grants(&self, worry: Worry<'_>) -> Vec<Grant> {
        let all: Vec<Grant> = self.granted.keys().filter_map(|key| key.parse().ok()).collect();
        let grouped: Vec<Grant> = all.iter().map(|grant| together(grant, &all, worry)).collect();
        let mut fewest: Vec<Grant> = Vec::new();
        for grant in &grouped {
            let covered = grouped.iter().any(|other| other != grant && covers(other, grant));
            if !covered && !fewest.contains(grant) {
                fewest.push(grant.clone());
            }
        }
        fewest
    }

    /// Who asked for what a grant covers, in a few words.
    pub(super) fn askers(&self, grant: &Grant) -> String {
        let asked = self
            .granted
            .iter()
            .filter(|(key, _)| key.parse::<Grant>().is_ok_and(|asked| asked == *grant || covers(grant, &asked)));
        let mut asked = asked.map(|(_, by)| by.as_str());
        let first = asked.next().unwrap_or_default();
        match asked.count() {
            0 => first.to_owned(),
            more => format!("{first}, and {more} more"),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let Self { runs, granted, held, refused, given } = self;
        json!({"runs": runs, "granted": granted, "held": held, "refused": refused, "given": given.to_json()})
    }

    /// The same read back; what is not a grant is not granted.
    pub(super) fn from_json(value: &Value) -> Self {
        let map = |value: &Value| -> BTreeMap<String, String> {
            let empty = Map::new();
            let entries = value.as_object().unwrap_or(&empty).iter();
            entries.map(|(key, why)| (key.clone(), why.as_str().unwrap_or_default().to_owned())).collect()
        };
        Self {
            runs: value["runs"].as_u64().unwrap_or(0),
            granted: map(&value["granted"]),
            held: map(&value["held"]),
            refused: map(&value["refused"]),
            given: Given::from_json(&value["given"]),
        }
    }
}

fn put(entries: &mut BTreeMap<String, String>, key: String, why: String) {
    if entries.len() < ENTRIES_MAX || entries.contains_key(&key) {
        entries.entry(key).or_insert(why);
    }
}

/// The directory of a file, where several of its files were asked for and nobody has to think about the rest of it.
fn together(grant: &Grant, all: &[Grant], worry: Worry<'_>) -> Grant {
    let Some(parent) = read(grant).and_then(Path::parent).filter(|parent| parent.components().count() > 2) else {
        return grant.clone();
    };
    let siblings = all.iter().filter_map(read).filter(|other| other.parent() == Some(parent)).count();
    if siblings >= SIBLINGS_MIN && worry(parent).is_none() { Grant::FsRead(parent.to_owned()) } else { grant.clone() }
}

fn read(grant: &Grant) -> Option<&Path> {
    match grant {
        Grant::FsRead(path) => Some(path),
        Grant::FsWrite(_) | Grant::NetConnect(_) | Grant::NetFull | Grant::Env(_) | Grant::Limit { .. } => None,
    }
}

/// Whether what one grant gives holds what the other one does.
pub(super) fn covers(outer: &Grant, inner: &Grant) -> bool {
    match (outer, inner) {
        (Grant::FsWrite(outer), Grant::FsRead(inner) | Grant::FsWrite(inner))
        | (Grant::FsRead(outer), Grant::FsRead(inner)) => inner.starts_with(outer),
        _ => outer == inner,
    }
}

#[cfg(test)]
mod tests;
