//! Whether the host changed a path since the workspace began. Pure: two moments and what was left behind.

use crate::about::Began;
use crate::change::{Change, Changes, Node, NodeKind, What};
use crate::known::{Known, Stamp};
use crate::relative::Relative;
use polder_sys::tree::{Moment, Stat};
use std::collections::BTreeSet;

/// File systems that stamp finely since Linux 6.13, and promise that no later change gets an earlier stamp.
const FINE: [u64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];

/// What decides about conflicts, besides the change itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since<'a> {
    pub(crate) began: Began,
    /// The magic number of the tree's file system.
    pub(crate) file_system: u64,
    pub(crate) known: &'a Known,
    /// Files of the tree that the layer deletes, by number: a copied file with another name came from one of them.
    pub(crate) deleted: &'a BTreeSet<u64>,
    /// For an ordinary user the kernel notes that a file was copied, but not from which. This says that the layer deletes
    /// fewer files than such copies have new names, so that not all of them can have been renamed by the command.
    pub(crate) too_many_copies: bool,
}

impl Since<'_> {
    /// From when on a change of the host counts as later. In doubt it does.
    fn moment(&self) -> Moment {
        if FINE.contains(&self.file_system) { self.began.fine } else { self.began.tick }
    }

    fn changed(&self, path: &Relative, node: &Node) -> bool {
        match self.known.get(path) {
            // Left behind by us and untouched since.
            Some(Some(stamp)) if *stamp == Stamp::of(&node.stat) => false,
            Some(_) => true,
            None => node.stat.changed >= self.moment(),
        }
    }

    /// Whether a directory of the tree may be another than the one that the command saw. A directory that is renamed gets a
    /// new change time and keeps the time of its names; so does one that gets other bits, which in doubt counts as well.
    /// Where the kernel noted which directory it was, the note decides.
    fn moved(&self, path: &Relative, stat: &Stat, origin: Option<&[u8]>) -> bool {
        if let Some(Some(stamp)) = self.known.get(path)
            && stamp.inode == stat.inode
        {
            return false;
        }
        let seen_before = match origin {
            Some(origin) if !origin.is_empty() => came_from(origin, &BTreeSet::from([stat.inode])),
            Some(_) | None => stat.modified >= self.moment(),
        };
        stat.changed >= self.moment() && !seen_before
    }
}

/// The directories of the tree that may be others than those that the command saw.
pub(crate) fn moved(found: &Changes, since: Since<'_>) -> BTreeSet<Relative> {
    let shared = found.shared.iter().map(|one| (&one.path, &one.stat, one.origin.as_deref()));
    let going = found.changes.iter().filter_map(|change| {
        let before = change.before.as_ref().filter(|node| node.kind == NodeKind::Directory)?;
        (change.what != What::Mode).then_some((&change.path, &before.stat, None))
    });
    let moved = shared.chain(going).filter(|(path, stat, origin)| since.moved(path, stat, *origin));
    moved.map(|(path, _, _)| path.clone()).collect()
}

/// Why the change must not be applied without being told so, if it must not.
pub(crate) fn conflict(change: &Change, since: Since<'_>, moved: &BTreeSet<Relative>) -> Option<String> {
    own_conflict(change, since).or_else(|| change.paths().find_map(|path| above(path, moved)))
}

/// What stands against every change in a directory that the host put there.
fn above(path: &Relative, moved: &BTreeSet<Relative>) -> Option<String> {
    let mut above = path.parent_below_root();
    while let Some(directory) = above {
        if moved.contains(&directory) {
            let shown = crate::visible_name(directory.as_path().as_os_str().as_encoded_bytes());
            return Some(format!(
                "the host put another directory at `{shown}` since the run began, or changed its bits"
            ));
        }
        above = directory.parent_below_root();
    }
    None
}

fn own_conflict(change: &Change, since: Since<'_>) -> Option<String> {
    let Change { path, what, before, after, copied_from_tree } = change;
    match (what, before) {
        (What::Added, _) => match copied_from_tree {
            Some(origin) => {
                // A directory of the tree cannot be renamed in a layer, so it was here.
                let was_here = after.as_ref().is_some_and(|node| node.kind == NodeKind::Directory);
                let renamed = if origin.is_empty() { !since.too_many_copies } else { came_from(origin, since.deleted) };
                let removed = was_here || !renamed;
                removed.then(|| "the host removed or renamed it since the run began".to_owned())
            }
            None => None,
        },
        // What is in a directory has conflicts of its own; the directory's stamp tells of every new name in it.
        (What::Deleted, Some(node)) if node.kind == NodeKind::Directory => None,
        (What::Renamed { from }, Some(node)) => since.changed(from, node).then(|| {
            format!(
                "the host changed `{}` since the run began",
                crate::visible_name(from.as_path().as_os_str().as_encoded_bytes())
            )
        }),
        (What::Deleted | What::Modified | What::Mode | What::Type | What::Target, Some(node)) => {
            since.changed(path, node).then(|| "the host changed it since the run began".to_owned())
        }
        (What::Deleted | What::Modified | What::Mode | What::Type | What::Target | What::Renamed { .. }, None) => None,
    }
}

/// Whether the kernel's note about the origin of a copy names one of these files. The note has a file handle in it, and a
/// file handle has the file's number in it, in 32 or 64 bits.
fn came_from(origin: &[u8], deleted: &BTreeSet<u64>) -> bool {
    const HEAD_BYTES: usize = 21;
    let Some(handle) = origin.get(HEAD_BYTES..) else { return false };
    let number = |width: usize| {
        let bytes = handle.get(..width)?;
        Some(bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    [number(4), number(8)].into_iter().flatten().any(|number| deleted.contains(&number))
        || (8..handle.len().saturating_sub(7)).any(|at| {
            let bytes = &handle[at..at + 8];
            deleted.contains(&bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
        })
}

#[cfg(test)]
mod tests;
