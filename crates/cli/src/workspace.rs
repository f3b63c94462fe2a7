//! `polder workspace`: list, diff, apply, discard, revert.

mod apply;
mod ask;
mod diff;
mod json;
mod list;
mod paint;
mod record;
mod settle;

use crate::args::{PartArgs, WhichArgs, WorkspaceArgs, WorkspaceVerb};
use crate::exit::Failure;
use crate::render::text::tolerate_closed;
pub(crate) use json::escaped;
use polder_workspace::{Relative, Review, Store, StoreError, Workspace, visible_name};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) fn workspace(args: WorkspaceArgs) -> Result<u8, Failure> {
    match args.verb {
        WorkspaceVerb::List(args) => list::list(&args),
        WorkspaceVerb::Diff(args) => diff::diff(&args),
        WorkspaceVerb::Apply(args) => apply::apply(&args),
        WorkspaceVerb::Discard(args) => settle::discard(&args),
        WorkspaceVerb::Revert(args) => settle::revert(&args),
    }
}

fn store() -> Result<Store, Failure> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let place = Store::place_for(&environment)
        .ok_or_else(|| Failure::new("there is no home directory to keep workspaces in; set HOME or XDG_STATE_HOME"))?;
    Ok(Store::open(&place)?)
}

/// Whether a verb changes or removes something: then it is not enough that only one tree has a workspace of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Looks,
    Changes,
}

/// The workspace that is meant: by name, or the newest of the tree in which polder is called.
fn which(args: &WhichArgs, verb: Verb) -> Result<Workspace, Failure> {
    let store = store()?;
    let directory = args.directory.clone().unwrap_or_else(|| PathBuf::from("."));
    let found = match (&args.name, verb) {
        (Some(name), Verb::Looks) => store.find(&name.parse()?, &directory),
        (Some(name), Verb::Changes) => store.find_here(&name.parse()?, &directory),
        (None, _) => store.newest(&directory),
    };
    found.map_err(|error| match &error {
        StoreError::Unknown { name } => unknown(&store, name, error.to_string()),
        _ => error.into(),
    })
}

/// A name that is mistyped gets the nearest one.
fn unknown(store: &Store, name: &str, message: String) -> Failure {
    let all = store.list().unwrap_or_default();
    let near = polder_policy::nearest(name, all.iter().map(|workspace| workspace.name().as_str()));
    Failure::new(near.map_or(message.clone(), |near| format!("{message}; {near}")))
}

/// The tree of it that is meant.
fn part(args: &PartArgs, verb: Verb) -> Result<Workspace, Failure> {
    let directory = args.which.directory.clone().unwrap_or_else(|| PathBuf::from("."));
    Ok(which(&args.which, verb)?.part(args.project.as_deref(), &directory)?)
}

fn print(text: &str) -> Result<(), Failure> {
    tolerate_closed(writeln!(io::stdout().lock(), "{text}")).map_err(Failure::from)
}

/// As one line of JSON in which nothing speaks to a terminal: what is not plain is escaped, which means the same.
fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&escaped(&value.to_string()))
}

/// A path as it can be shown.
fn shown(path: &Relative) -> String {
    shown_path(path.as_path())
}

fn shown_path(path: &Path) -> String {
    visible_name(path.as_os_str().as_encoded_bytes())
}

/// Names the other projects of a workspace that have changes, too: a verb is about one.
fn tell_others(parts: &[Workspace], workspace: &Workspace, verb: &str) -> Result<(), Failure> {
    let others = parts.iter().filter(|other| other.project() != workspace.project());
    // What was applied is no change any more; one that cannot be read is not left out.
    let differs = |other: &&Workspace| other.review().map_or(true, |review| !review.items.is_empty());
    for other in others.filter(differs) {
        print(&format!("more in another project: `polder workspace {verb} {}`", other.full_name()))?;
    }
    Ok(())
}

/// How many changes are named where a pattern names none.
const NAMED_MAX: usize = 5;

/// Refuses patterns that name no change: a name that is mistyped must not look like nothing to do.
fn named(review: &Review, patterns: &[String]) -> Result<(), Failure> {
    for pattern in patterns {
        let is_forged = review.forged.iter().any(|forged| forged.path.as_path() == Path::new(pattern));
        if is_forged || !review.only(std::slice::from_ref(pattern))?.is_empty() {
            continue;
        }
        let changes: Vec<String> = review.items.iter().map(|item| shown(&item.change.path)).collect();
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
        // Those of the same name in another directory, or all.
        let near: Vec<&String> = changes.iter().filter(|path| last(path) == last(pattern)).collect();
        let near = if near.is_empty() { changes.iter().collect() } else { near };
        let told: Vec<String> = near.iter().take(NAMED_MAX).map(|path| format!("`{path}`")).collect();
        let more = if near.len() > NAMED_MAX { " and others" } else { "" };
        let what = match told.as_slice() {
            [] => "nothing was changed".to_owned(),
            told => format!("changed are {}{more}", told.join(", ")),
        };
        let pattern = visible_name(pattern.as_bytes());
        return Err(Failure::new(format!(
            "`--path {pattern}` names no change; {what}; paths begin at the tree's root"
        )));
    }
    Ok(())
}
