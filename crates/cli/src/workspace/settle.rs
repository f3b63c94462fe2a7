//! `polder workspace discard` and `polder workspace revert`.

use super::record::Recorded;
use super::{Verb, json, part, print, print_json, shown, which};
use crate::args::{WorkspaceDiscardArgs, WorkspaceRevertArgs};
use crate::exit::Failure;
use serde_json::json;

pub(crate) fn discard(args: &WorkspaceDiscardArgs) -> Result<u8, Failure> {
    let workspace = which(&args.which, Verb::Changes)?;
    let name = workspace.name().to_string();
    // One whose apply was interrupted is half in the tree: that is settled first.
    let lock = workspace.lock_for_run()?;
    workspace.discard(lock)?;
    if args.json {
        print_json(&json!({"workspace": name, "state": "discarded"}))?;
    } else {
        print(&format!("discarded {name}"))?;
    }
    Ok(0)
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
        print_json(&json!({"workspace": workspace.name().as_str(), "reverted": restored, "refused": refused}))?;
    } else {
        for path in &done.restored {
            print(&format!("reverted {}", shown(path)))?;
        }
        for path in &done.refused {
            print(&format!("refused {}: it changed since it was applied", shown(path)))?;
        }
    }
    Ok(u8::from(!done.refused.is_empty()))
}
