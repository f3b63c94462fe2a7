//! Changes of a private copy, as changes of the tree that it was copied from.
//!
//! The command saw the copy, and the user goes on with the tree. Where both are still the same, a change of one is a change
//! of the other. Where they are not, it is a conflict: told by what is there, not by when it came there. What only the tree
//! has was never the command's to delete.

use crate::change::{Change, Node, NodeKind, What};
use crate::compare::told_apart;
use crate::known::{Known, Stamp};
use crate::read::{is_absent, node};
use crate::relative::Relative;
use polder_sys::tree;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The layer, the copy below it, and the tree.
#[derive(Clone, Copy)]
pub(crate) struct Three<'a> {
    pub(crate) layer: BorrowedFd<'a>,
    pub(crate) base: BorrowedFd<'a>,
    pub(crate) tree: BorrowedFd<'a>,
}

/// How the tree differs from what the command saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Apart {
    /// It has something else there.
    Differs,
    /// It has nothing there any more.
    Gone,
    /// It has something that was not copied.
    Unseen,
    /// It has a directory with more in it than was copied, where the command made something else. Taking that would take
    /// the rest away with it, so nothing forces it.
    Full,
}

impl Apart {
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Differs => "the tree has something else there than the command saw",
            Self::Gone => "the host removed or renamed it since the run began",
            Self::Unseen => "the tree has something there that the command could not see",
            Self::Full => {
                "the tree has a directory there that holds what the command could not see; move that away first"
            }
        }
    }
}

/// Changes of the tree, and where they are in conflict with it.
pub(crate) struct Onto {
    pub(crate) changes: Vec<Change>,
    pub(crate) apart: BTreeMap<Relative, Apart>,
}

/// Says of every change of the copy what it means for the tree. The changes come in the order of their paths, and no
/// renames are among them yet.
pub(crate) fn onto_tree(changes: Vec<Change>, three: Three<'_>, known: &Known) -> io::Result<Onto> {
    let mut onto = Onto { changes: Vec::new(), apart: BTreeMap::new() };
    for change in changes {
        let Some((change, apart)) = one(change, three, known)? else { continue };
        if let Some(apart) = apart {
            onto.apart.insert(change.path.clone(), apart);
        }
        onto.changes.push(change);
    }
    make_what_it_lies_in(&mut onto, three)?;
    keep_what_nobody_deleted(&mut onto, three.tree)?;
    Ok(onto)
}

/// What the command made in a directory that the tree has no more needs that directory first.
fn make_what_it_lies_in(onto: &mut Onto, three: Three<'_>) -> io::Result<()> {
    let mut told: BTreeSet<Relative> = onto.changes.iter().map(|change| change.path.clone()).collect();
    let mut missing = Vec::new();
    for change in onto.changes.iter().filter(|change| change.after.is_some()) {
        let mut above = change.path.parent_below_root();
        while let Some(path) = above {
            above = path.parent_below_root();
            let before = look(three.tree, &path)?.map(|(_, node)| node);
            if before.as_ref().is_some_and(|node| node.kind == NodeKind::Directory) || !told.insert(path.clone()) {
                break;
            }
            let Some((_, after)) = look(three.layer, &path)? else { break };
            let (what, apart) = match before {
                Some(_) => (What::Type, Apart::Differs),
                None => (What::Added, Apart::Gone),
            };
            onto.apart.insert(path.clone(), apart);
            missing.push(Change { path, what, before, after: Some(after), copied_from_tree: None });
        }
    }
    if !missing.is_empty() {
        onto.changes.append(&mut missing);
        onto.changes.sort_by(|one, other| one.path.cmp(&other.path));
    }
    Ok(())
}

fn one(change: Change, three: Three<'_>, known: &Known) -> io::Result<Option<(Change, Option<Apart>)>> {
    let Change { path, what, before: seen, after, copied_from_tree: _ } = change;
    let now = look(three.tree, &path)?;
    let change = |what, before, after| Change { path: path.clone(), what, before, after, copied_from_tree: None };
    let Some((holder, now)) = now else {
        // Nothing is there. That is news only if something was.
        return Ok(match (seen, after) {
            (_, None) => None,
            (None, after) => Some((change(What::Added, None, after), None)),
            (Some(_), after) => Some((change(What::Added, None, after), Some(Apart::Gone))),
        });
    };
    let untouched = match (&seen, known.get(&path)) {
        (_, Some(Some(stamp))) if *stamp == Stamp::of(&now.stat) => true,
        (Some(seen), _) => is_same(three.base, seen, &holder, &now, &path)?,
        (None, _) => false,
    };
    let apart = match (&seen, untouched) {
        (_, true) => None,
        (Some(_), false) => Some(Apart::Differs),
        (None, false) => Some(Apart::Unseen),
    };
    let Some(after) = after else { return Ok(Some((change(what, Some(now), None), apart))) };
    let both_directories = now.kind == NodeKind::Directory && after.kind == NodeKind::Directory;
    if both_directories && seen.is_none() {
        // Each of them made it, and what is in it is told by itself.
        return Ok(None);
    }
    let differs = match look(three.layer, &path)? {
        Some((upper, _)) => told_apart(&now, &after, upper.as_fd(), holder.as_fd(), path.name())?,
        None => Some(what),
    };
    Ok(differs.map(|what| (change(what, Some(now), Some(after)), apart)))
}

/// What is at a path, and the directory that it lies in.
fn look(root: BorrowedFd<'_>, path: &Relative) -> io::Result<Option<(OwnedFd, Node)>> {
    const ELOOP: i32 = 40;
    let holder = match tree::open_below(root, path.parent()) {
        Ok(holder) => holder,
        Err(error) if is_absent(&error) || error.raw_os_error() == Some(ELOOP) => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = node(holder.as_fd(), path.name())?;
    Ok(found.map(|found| (holder, found)))
}

/// Whether the tree still has what was copied. A copy has no bits that give rights.
fn is_same(base: BorrowedFd<'_>, seen: &Node, holder: &OwnedFd, now: &Node, path: &Relative) -> io::Result<bool> {
    let Some((copy, _)) = look(base, path)? else { return Ok(false) };
    let differs = told_apart(now, seen, copy.as_fd(), holder.as_fd(), path.name())?;
    Ok(match differs {
        None => true,
        Some(What::Mode) => (now.stat.mode ^ seen.stat.mode) & 0o777 == 0 || now.kind == NodeKind::Directory,
        Some(_) => false,
    })
}

/// A directory in which the tree has more than the command deleted stays, and those above it do.
fn keep_what_nobody_deleted(onto: &mut Onto, root: BorrowedFd<'_>) -> io::Result<()> {
    let deleted = |change: &Change| change.what == What::Deleted;
    let mut going: BTreeSet<Relative> =
        onto.changes.iter().filter(|change| deleted(change)).map(|change| change.path.clone()).collect();
    let is_directory = |node: &Option<Node>| node.as_ref().is_some_and(|node| node.kind == NodeKind::Directory);
    // From below: what stays keeps what it lies in.
    for index in (0..onto.changes.len()).rev() {
        let change = &onto.changes[index];
        let replaced = change.after.as_ref().is_some_and(|after| after.kind != NodeKind::Directory);
        if !is_directory(&change.before) || !(deleted(change) || replaced) {
            continue;
        }
        let opened = tree::open_below(root, change.path.as_path())?;
        if tree::names(opened.as_fd())?.iter().all(|name| going.contains(&change.path.child(name))) {
            continue;
        }
        going.remove(&change.path);
        if replaced {
            onto.apart.insert(change.path.clone(), Apart::Full);
        }
    }
    onto.changes.retain(|change| !deleted(change) || !is_directory(&change.before) || going.contains(&change.path));
    Ok(())
}
