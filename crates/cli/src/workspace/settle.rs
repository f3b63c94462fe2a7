//! `polder workspace discard` and `polder workspace revert`.

use super::record::Recorded;
use super::{Verb, json, part, print, print_json, shown, store, which};
use crate::args::{WhichArgs, WorkspaceDiscardArgs, WorkspaceRevertArgs};
use crate::exit::Failure;
use serde_json::json;
use std::path::PathBuf;

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
        let paths = |paths: &[polder_workspace::Relative]| paths.iter().map(json::path).collect::<Vec<_>>();
        let (restored, refused) = (paths(&done.restored), paths(&done.refused));
        let (name, earlier) = (workspace.name().as_str(), done.earlier);
        print_json(&json!({"workspace": name, "reverted": restored, "refused": refused, "earlier": earlier}))?;
    } else {
        for path in &done.restored {
            print(&format!("reverted {}", shown(path)))?;
        }
        for path in &done.refused {
            print(&format!("refused {}: it changed since it was applied", shown(path)))?;
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
