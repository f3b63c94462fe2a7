//! What the attacks by way of an apply share: a host that takes everything against which nothing stands.

use crate::stage::Stage;
use polder_workspace::{Applied, Choice, Store, Unwatched, Verdict, Workspace};

/// Applies the workspace that the command left, as `polder workspace apply` does.
pub(super) fn apply(stage: &Stage) -> Result<Applied, String> {
    workspace(stage)?.apply(&Choice::everything(), &mut Unwatched).map_err(|error| error.to_string())
}

/// The workspace that the command left.
pub(super) fn workspace(stage: &Stage) -> Result<Workspace, String> {
    store(stage)?.newest(&stage.workspace).map_err(|error| error.to_string())
}

/// The store of whoever attacks.
pub(super) fn store(stage: &Stage) -> Result<Store, String> {
    let place = Store::place_for(&stage.environment).ok_or("no place for workspaces")?;
    Store::open(&place).map_err(|error| error.to_string())
}

/// An error unless a change was held back: one that never came into the layer shows nothing.
pub(super) fn must_be_held(applied: &Applied, path: &str) -> Result<(), String> {
    let held = |(item, verdict): &(polder_workspace::Item, Verdict)| {
        item.change.path.as_path() == std::path::Path::new(path) && matches!(verdict, Verdict::Held(_))
    };
    if applied.items.iter().any(held) { Ok(()) } else { Err(format!("`{path}` was not held back: {applied:?}")) }
}

/// An error unless a change was applied: an apply that takes nothing shows nothing.
pub(super) fn must_be_taken(applied: &Applied, path: &str) -> Result<(), String> {
    let taken = |(item, verdict): &(polder_workspace::Item, Verdict)| {
        item.change.path.as_path() == std::path::Path::new(path) && *verdict == Verdict::Taken
    };
    if applied.items.iter().any(taken) { Ok(()) } else { Err(format!("`{path}` was not applied: {applied:?}")) }
}
