//! The tree before and after an apply, path by path: what the changes say, and else what the tree has.

use crate::change::{Change, Node, NodeKind};
use crate::content::read_bounded;
use crate::read::{is_absent, node, open_host_file, open_own_file};
use crate::relative::Relative;
use crate::sides::Sides;
use polder_sys::tree;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;

/// Both states of a tree.
pub(crate) struct TwoViews<'a> {
    pub(crate) sides: &'a Sides,
    /// Every changed path.
    changes: BTreeMap<&'a Relative, &'a Change>,
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

impl<'a> TwoViews<'a> {
    /// The changes are no renames yet: each is about one path.
    pub(crate) fn new(sides: &'a Sides, changes: &'a [Change]) -> Self {
        Self { sides, changes: changes.iter().map(|change| (&change.path, change)).collect() }
    }

    pub(crate) fn change(&self, path: &Relative) -> Option<&'a Change> {
        self.changes.get(path).copied()
    }

    /// The changes of a directory and of everything in it.
    pub(crate) fn within(&self, path: &Relative) -> impl Iterator<Item = &'a Change> {
        let below = self.changes.range(path.clone()..).map(|(_, change)| *change);
        let path = path.clone();
        below.take_while(move |change| change.path.is_within(&path))
    }

    /// What is at a path.
    pub(crate) fn node(&self, path: &Relative, when: When) -> io::Result<Option<Node>> {
        if let Some(change) = self.change(path) {
            return Ok(match when {
                When::Before => change.before.clone(),
                When::After => change.after.clone(),
            });
        }
        const ELOOP: i32 = 40;
        match tree::open_below(self.sides.tree.as_fd(), path.parent()) {
            Ok(parent) => node(parent.as_fd(), path.name()),
            // A directory that the caller may not enter, or another file system, is nothing that is applied.
            Err(error) if is_absent(&error) || error.raw_os_error() == Some(ELOOP) => Ok(None),
            Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::CrossesDevices) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn has(&self, path: &Relative, when: When) -> io::Result<bool> {
        Ok(self.node(path, when)?.is_some())
    }

    pub(crate) fn is_directory(&self, path: &Relative, when: When) -> io::Result<bool> {
        Ok(self.node(path, when)?.is_some_and(|node| node.kind == NodeKind::Directory))
    }

    /// The names in a directory of the tree; none where there is no such directory.
    pub(crate) fn host_names(&self, path: &Relative) -> io::Result<Vec<OsString>> {
        match tree::open_below(self.sides.tree.as_fd(), path.as_path()).and_then(|opened| tree::names(opened.as_fd())) {
            Err(error) if is_absent(&error) => Ok(Vec::new()),
            other => other,
        }
    }

    /// The content of a regular file, if there is one of at most so many bytes.
    pub(crate) fn read(&self, path: &Relative, when: When, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        if !self.node(path, when)?.is_some_and(|node| node.kind == NodeKind::File) {
            return Ok(None);
        }
        let is_layers = when == When::After && self.change(path).is_some();
        let root = if is_layers { &self.sides.layer } else { &self.sides.tree };
        let open = || {
            let parent = tree::open_below(root.as_fd(), path.parent())?;
            if is_layers {
                open_own_file(parent.as_fd(), path.name())
            } else {
                open_host_file(parent.as_fd(), path.name())
            }
        };
        match open().and_then(|file| read_bounded(&file, bytes_max)) {
            Err(error) if is_absent(&error) || error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
            other => other,
        }
    }
}
