//! A file that is gone and a file that is new with the same content are one file that was renamed.

use crate::change::{Change, NodeKind, What};
use crate::content::fingerprint;
use crate::read::{open_host_file, open_own_file};
use polder_sys::tree;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Larger files are shown as deleted and added: reading them would take longer than anybody wants to wait for a word.
const SIZE_BYTES_MAX: u64 = 64 << 20;

/// Makes one change of two, where contents are equal. Only files whose sizes occur on both sides are read.
pub(crate) fn pair(changes: &mut Vec<Change>, upper: BorrowedFd<'_>, lower: BorrowedFd<'_>) -> io::Result<()> {
    let (gone, new) = (files(changes, &What::Deleted), files(changes, &What::Added));
    let sizes: BTreeSet<u64> = gone.keys().filter(|size| new.contains_key(size)).copied().collect();
    let mut merged = Vec::new();
    for size in sizes {
        let mut by_content: BTreeMap<[u8; 32], Vec<usize>> = BTreeMap::new();
        for index in &gone[&size] {
            if let Some(print) = print(&changes[*index], lower, size, Side::Tree)? {
                by_content.entry(print).or_default().push(*index);
            }
        }
        for index in &new[&size] {
            let Some(print) = print(&changes[*index], upper, size, Side::Layer)? else { continue };
            let Some(candidates) = by_content.get_mut(&print).filter(|candidates| !candidates.is_empty()) else {
                continue;
            };
            // The same name elsewhere is the likelier source.
            let name = changes[*index].path.name();
            let best = candidates.iter().position(|from| changes[*from].path.name() == name).unwrap_or(0);
            merged.push((candidates.remove(best), *index));
        }
    }
    let mut dropped = BTreeSet::new();
    for (from, to) in merged {
        let (source, before) = (changes[from].path.clone(), changes[from].before.clone());
        changes[to].what = What::Renamed { from: source };
        changes[to].before = before;
        dropped.insert(from);
    }
    let mut index = 0;
    changes.retain(|_| {
        index += 1;
        !dropped.contains(&(index - 1))
    });
    Ok(())
}

/// Regular files among the changes of one sort, by size.
fn files(changes: &[Change], what: &What) -> BTreeMap<u64, Vec<usize>> {
    let mut found: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, change) in changes.iter().enumerate().filter(|(_, change)| change.what == *what) {
        let node = change.after.as_ref().or(change.before.as_ref());
        if let Some(node) = node
            && node.kind == NodeKind::File
            && (1..=SIZE_BYTES_MAX).contains(&node.stat.size)
        {
            found.entry(node.stat.size).or_default().push(index);
        }
    }
    found
}

#[derive(Clone, Copy)]
enum Side {
    Tree,
    Layer,
}

fn print(change: &Change, root: BorrowedFd<'_>, size: u64, side: Side) -> io::Result<Option<[u8; 32]>> {
    // A directory of the layer that cannot be entered, or one of the tree that changed meanwhile: then it is no rename.
    let Ok(parent) = tree::open_below(root, change.path.parent()) else { return Ok(None) };
    let opened = match side {
        Side::Tree => open_host_file(parent.as_fd(), change.path.name()),
        Side::Layer => open_own_file(parent.as_fd(), change.path.name()),
    };
    let Ok(file) = opened else { return Ok(None) };
    fingerprint(&file, size).map(Some)
}
