//! Whether the host changed a path since the workspace began. Pure: two moments and what was left behind.

use crate::about::Began;
use crate::change::{Change, Changes, Node, NodeKind, What};
use crate::known::{Known, Stamp};
use crate::relative::Relative;
use crate::sighted::{Sighted, Sightings};
use polder_sys::tree::{Moment, Stat};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What decides about conflicts, besides the change itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since<'a> {
    pub(crate) began: Began,
    /// The magic number of the tree's file system.
    pub(crate) file_system: u64,
    pub(crate) known: &'a Known,
    /// What the tree had when runs ended.
    pub(crate) sighted: &'a Sightings,
    /// Directories of the tree in which names came or went since the workspace began; empty for the root.
    pub(crate) unsettled: &'a BTreeSet<PathBuf>,
    /// Files of the tree that the layer deletes, by number: a copied file with another name came from one of them.
    pub(crate) deleted: &'a BTreeSet<u64>,
    /// For an ordinary user the kernel notes that a file was copied, but not from which. This says that the layer deletes
    /// fewer files than such copies have new names, so that not all of them can have been renamed by the command.
    pub(crate) too_many_copies: bool,
}

impl Since<'_> {
    /// From when on a change of the host counts as later. In doubt it does.
    pub(crate) fn moment(&self) -> Moment {
        self.began.moment_on(self.file_system)
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
    /// Where somebody noted which directory it was, the note decides.
    fn moved(&self, path: &Relative, stat: &Stat, seen: Seen<'_>) -> Option<Moved> {
        let another = |is_another: bool| is_another.then_some(Moved::Another);
        // What came where nothing was has no earlier one to be mistaken for.
        let came = match seen {
            Seen::Merged(_) => Moved::Came,
            Seen::Whole(_) => Moved::Another,
        };
        match self.known.get(path) {
            Some(Some(stamp)) if stamp.inode == stat.inode => return None,
            // We left nothing there.
            Some(None) => return Some(came),
            Some(Some(_)) | None => {}
        }
        match self.sighted.at(path) {
            Some(Sighted::There { directory: Some(number) }) => return another(number != stat.inode),
            // It came there when the run had ended.
            Some(Sighted::Nothing | Sighted::Unsure) => return Some(came),
            Some(Sighted::There { directory: None }) | None => {}
        }
        let is_the_same = match seen {
            Seen::Merged(Some(origin)) | Seen::Whole(Some(origin)) if !origin.is_empty() => {
                came_from(origin, &BTreeSet::from([stat.inode]))
            }
            Seen::Merged(_) => stat.modified >= self.moment(),
            Seen::Whole(_) => false,
        };
        another(stat.changed >= self.moment() && !is_the_same)
    }
}

/// What the host did to a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// It may be another than the one that the command saw: everything in it is in conflict.
    Another,
    /// It came where nothing was: the command saw nothing of what is in it, and what it adds is new in either.
    Came,
}

/// What the layer did with a directory of the tree, and the kernel's note of which one it was.
#[derive(Clone, Copy, Debug)]
enum Seen<'a> {
    /// Some of what is in it is changed: each has a stamp of its own, and names that came or went are the host's work.
    Merged(Option<&'a [u8]>),
    /// All of what is in it goes. If names came or went, it may be another directory altogether, whose files have old stamps.
    Whole(Option<&'a [u8]>),
}

/// The directories of the tree that may be others than those that the command saw.
pub(crate) fn moved(found: &Changes, since: Since<'_>) -> BTreeMap<Relative, Moved> {
    let shared = found.shared.iter().map(|one| {
        let origin = one.origin.as_deref();
        (&one.path, &one.stat, if one.opaque { Seen::Whole(origin) } else { Seen::Merged(origin) })
    });
    let going = found.changes.iter().filter_map(|change| {
        let before = change.before.as_ref().filter(|node| node.kind == NodeKind::Directory)?;
        (change.what != What::Mode).then_some((&change.path, &before.stat, Seen::Whole(None)))
    });
    let judged = shared.chain(going);
    judged.filter_map(|(path, stat, seen)| Some((path.clone(), since.moved(path, stat, seen)?))).collect()
}

/// Why the change must not be applied without being told so, if it must not.
pub(crate) fn conflict(change: &Change, since: Since<'_>, moved: &BTreeMap<Relative, Moved>) -> Option<String> {
    let replaces =
        change.before.as_ref().is_some_and(|node| since.known.get(&change.path) != Some(&Some(Stamp::of(&node.stat))));
    own_conflict(change, since, moved).or_else(|| change.paths().find_map(|path| above(path, replaces, moved)))
}

/// Whether the host put another directory above a change.
pub(crate) fn displaced(change: &Change, moved: &BTreeMap<Relative, Moved>) -> Option<String> {
    change.paths().find_map(|path| above(path, false, moved))
}

/// What stands against changes in a directory that the host put there: against all of them, or against those that replace
/// something which is not ours.
fn above(path: &Relative, replaces: bool, moved: &BTreeMap<Relative, Moved>) -> Option<String> {
    let mut above = path.parent_below_root();
    while let Some(directory) = above {
        let stands = match moved.get(&directory) {
            Some(Moved::Another) => true,
            Some(Moved::Came) => replaces,
            None => false,
        };
        if stands {
            let shown = crate::visible_name(directory.as_path().as_os_str().as_encoded_bytes());
            return Some(format!("the host put another directory at `{shown}` since the run began, or worked on it"));
        }
        above = directory.parent_below_root();
    }
    None
}

fn own_conflict(change: &Change, since: Since<'_>, moved: &BTreeMap<Relative, Moved>) -> Option<String> {
    let Change { path, what, before, after: _, copied_from_tree: _ } = change;
    match (what, before) {
        (What::Added | What::Renamed { .. }, _) if had(change, since) == Had::Yes => {
            Some("the host removed or renamed it since the run began".to_owned())
        }
        (What::Added, _) => None,
        // What is in a directory has conflicts of its own; the directory's stamp tells of every new name in it.
        (What::Deleted, Some(node)) if node.kind == NodeKind::Directory => {
            moved.contains_key(path).then(|| "the host made it or worked on it since the run began".to_owned())
        }
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

/// What whoever applies the change should know: it may undo something that the host did, and nobody can tell.
pub(crate) fn doubt(change: &Change, since: Since<'_>) -> Option<&'static str> {
    let new = matches!(change.what, What::Added | What::Renamed { .. });
    let doubtful = new && had(change, since) == Had::Unsure;
    doubtful.then_some(
        "the host made or removed names beside it since the run began; if it removed this one, it comes back",
    )
}

/// Whether the tree had something where it has nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Had {
    Yes,
    No,
    Unsure,
}

fn had(new: &Change, since: Since<'_>) -> Had {
    let Change { path, what, before: _, after, copied_from_tree } = new;
    // What a renamed file was copied from is told already.
    let copied_from_tree = copied_from_tree.as_ref().filter(|_| *what == What::Added);
    match since.known.get(path) {
        Some(Some(_)) => return Had::Yes,
        Some(None) => return Had::No,
        None => {}
    }
    match (since.sighted.of(path), copied_from_tree) {
        (Some(Sighted::There { .. }), _) => Had::Yes,
        (Some(Sighted::Nothing), _) => Had::No,
        (Some(Sighted::Unsure) | None, Some(origin)) => {
            // A directory of the tree cannot be renamed in a layer, so it was here.
            let was_here = after.as_ref().is_some_and(|node| node.kind == NodeKind::Directory);
            let renamed = if origin.is_empty() { !since.too_many_copies } else { came_from(origin, since.deleted) };
            if was_here || !renamed { Had::Yes } else { Had::No }
        }
        (Some(Sighted::Unsure), None) => Had::Unsure,
        (None, None) if since.unsettled.contains(path.parent()) => Had::Unsure,
        (None, None) => Had::No,
    }
}

/// The directories of the tree in which names came or went since the workspace began, as far as the layer has them, too.
pub(crate) fn unsettled(found: &Changes, root: &Stat, from: Moment) -> BTreeSet<PathBuf> {
    let shared = found.shared.iter().map(|one| (one.path.as_path(), &one.stat));
    let all = shared.chain([(Path::new(""), root)]);
    all.filter(|(_, stat)| stat.changed >= from).map(|(path, _)| path.to_owned()).collect()
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
