//! `polder workspace discard` and `polder workspace revert`.

use super::record::Recorded;
use super::{Verb, json, part, print, print_json, shown_path, store, which};
use crate::args::{WhichArgs, WorkspaceDiscardArgs, WorkspaceRevertArgs};
use crate::exit::Failure;
use polder_workspace::Relative;
use serde_json::json;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub(crate) fn discard(args: &WorkspaceDiscardArgs) -> Result<u8, Failure> {
    let name = match damaged(&args.which)? {
        Some(name) => name,
        None => {
            let workspace = which(&args.which, Verb::Changes)?;
            let name = workspace.name().to_string();
            let lock = workspace.lock_for_discard()?;
            workspace.discard(lock)?;
            name
        }
    };
    if args.json {
        print_json(&json!({"workspace": name, "state": "discarded"}))?;
    } else {
        print(&format!("discarded {name}"))?;
    }
    Ok(0)
}

/// Removes the workspace that is meant if nothing else can be done with it. Says its name then.
fn damaged(which: &WhichArgs) -> Result<Option<String>, Failure> {
    let Some(name) = &which.name else { return Ok(None) };
    let directory = which.directory.clone().unwrap_or_else(|| PathBuf::from("."));
    Ok(store()?.remove_damaged(&name.parse()?, &directory)?.then(|| name.clone()))
}

/// Exit code 1 where a path changed since and was left alone.
pub(crate) fn revert(args: &WorkspaceRevertArgs) -> Result<u8, Failure> {
    let workspace = part(&args.part, Verb::Changes)?;
    let Some(done) = workspace.revert(&mut Recorded::new("revert", &workspace, &[])?)? else {
        return Err(Failure::new(format!("nothing of the workspace `{}` was applied yet", workspace.name())));
    };
    if args.json {
        let paths = |paths: &[Relative]| paths.iter().map(json::path).collect::<Vec<_>>();
        let (restored, refused) = (paths(&done.restored), paths(&done.refused));
        let (name, earlier) = (workspace.name().as_str(), done.earlier);
        print_json(&json!({"workspace": name, "reverted": restored, "refused": refused, "earlier": earlier}))?;
    } else {
        for (path, number) in folded(&done.restored) {
            let more = if number > 1 { format!(": {number} paths of git's state") } else { String::new() };
            print(&format!("reverted {path}{more}"))?;
        }
        for (path, number) in folded(&done.refused) {
            print(&match number {
                1 => format!("refused {path}: it changed since it was applied"),
                _ => {
                    format!("refused {path}: git worked on it since it was applied, and its state goes back as a whole")
                }
            })?;
        }
        match done.earlier {
            _ if !done.refused.is_empty() && done.earlier > 1 => {
                print("the apply before can be taken back when nothing is refused: move those paths away first")?;
            }
            _ if !done.refused.is_empty() => {}
            0 => {}
            1 => print("1 earlier apply can be taken back by another revert")?,
            more => print(&format!("{more} earlier applies can be taken back, one by each further revert"))?,
        }
    }
    Ok(u8::from(!done.refused.is_empty()))
}

/// Paths as they are shown, in their order; those of one repository as one, with their number.
fn folded(paths: &[Relative]) -> Vec<(String, usize)> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for path in paths {
        let is_git = |above: &&Path| above.file_name() == Some(OsStr::new(".git"));
        // The outermost, and not a file of this name.
        let repository = path.as_path().ancestors().skip(1).filter(is_git).last();
        let line = shown_path(repository.unwrap_or(path.as_path()));
        match lines.last_mut() {
            Some((last, number)) if *last == line => *number += 1,
            _ => lines.push((line, 1)),
        }
    }
    lines
}
