//! How an apply, or taking one back, leaves its paths. What somebody else did to a path in the meantime is theirs: it must not
//! count as ours only because we came to look after them.

use super::ground::Ground;
use super::undo::is_before;
use crate::journal::Record;
use crate::known::Stamp;
use crate::relative::Relative;
use crate::steps::{Act, Steps};
use polder_sys::tree::{Kind, Stat};
use std::collections::BTreeMap;
use std::io;

/// A path, and what we left there, if anything.
type Left = Vec<(Relative, Option<Stamp>)>;

/// How an apply left its paths.
pub(super) fn applied(ground: &mut Ground, record: &Record) -> io::Result<Left> {
    ground.forget_directories();
    let mut left = Left::with_capacity(record.steps.steps.len());
    for (index, step) in record.steps.steps.iter().enumerate() {
        let found = ground.stat(step.path.as_path())?;
        let ours = match &step.act {
            Act::Remove | Act::RemoveDirectory => None,
            Act::Make { .. } | Act::Put { .. } | Act::Link { .. } => record.ready.get(index).copied().flatten(),
            Act::Mode { .. } => step.before.as_ref().map(|before| before.stamp),
        };
        left.push((step.path.clone(), ours.map(|ours| as_found(ours, found.as_ref()))));
    }
    Ok(left)
}

/// Paths that are not as an apply left them.
pub(super) fn changed_since(ground: &mut Ground, record: &Record) -> io::Result<Vec<Relative>> {
    ground.forget_directories();
    // A path that becomes something else is told twice, and the second time counts.
    let left: BTreeMap<&Relative, &Option<Stamp>> = record.left.iter().map(|(path, stamp)| (path, stamp)).collect();
    let mut changed = Vec::new();
    for (path, stamp) in left {
        let found = ground.stat(path.as_path())?;
        let is_left = match (stamp, &found) {
            (Some(stamp), Some(found)) => is_ours(stamp, found),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !is_left {
            changed.push(path.clone());
        }
    }
    Ok(changed)
}

/// How the paths of an apply that was taken back are.
pub(super) fn taken_back(ground: &mut Ground, steps: &Steps) -> io::Result<Left> {
    ground.forget_directories();
    let giving_way = steps.giving_way();
    let mut left = Left::new();
    for step in &steps.steps {
        // What gave way to something else is told by the step that removed it.
        if step.before.is_none() && giving_way.contains(&step.path) {
            continue;
        }
        let ours = match (&step.before, ground.stat(step.path.as_path())?) {
            (None, _) => None,
            (Some(_), Some(found)) if is_before(ground, step, &found)? => Some(Stamp::of(&found)),
            (Some(before), _) => Some(before.stamp),
        };
        left.push((step.path.clone(), ours));
    }
    Ok(left)
}

/// Our stamp as it is now, if what is there is still ours. A stamp that nothing has any more is that of no file.
fn as_found(ours: Stamp, found: Option<&Stat>) -> Stamp {
    match found {
        Some(found) if is_ours(&ours, found) => Stamp::of(found),
        Some(_) | None => ours,
    }
}

/// Whether a file is the one that we put there, with the content that it had then.
pub(super) fn is_ours(ours: &Stamp, found: &Stat) -> bool {
    match found.kind {
        // Names come and go in it.
        Kind::Directory => ours.inode == found.inode,
        _ => ours.is_content_of(found),
    }
}
