//! The two sides of a workspace, held open: the layer, and the tree that it belongs to.

use crate::about::{Born, Mode};
use crate::read::is_absent;
use crate::store::StoreError;
use crate::workspace::Workspace;
use polder_sys::tree;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

/// Layer and tree. What the paths mean can change; what these mean cannot.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) layer: OwnedFd,
    pub(crate) tree: OwnedFd,
    /// What the command saw below its layer, where that is a copy.
    pub(crate) base: Option<OwnedFd>,
    /// The path of the tree, for what names it absolutely.
    pub(crate) root: PathBuf,
}

impl Workspace {
    /// Opens both sides, if the tree is still the one that the workspace began with.
    pub(crate) fn sides(&self) -> Result<Sides, StoreError> {
        let layer = self.open_layer().map_err(self.fault("open the layer of"))?;
        let root = tree::open_root(&self.about.root).map_err(self.fault("open the tree of"))?;
        if !self.began_with(root.as_fd()).map_err(self.fault("open the tree of"))? {
            return Err(StoreError::Replaced { name: self.about.name.clone(), root: self.about.root.clone() });
        }
        let base = match self.about.mode {
            Mode::Cow => None,
            Mode::Worktree => Some(tree::open_root(&self.base()).map_err(self.fault("open the copy of"))?),
        };
        Ok(Sides { layer, tree: root, base, root: self.about.root.clone() })
    }

    /// Whether the tree is no more, or another one is at its path. One that cannot be looked at is there.
    pub(crate) fn is_tree_gone(&self) -> bool {
        match tree::open_root(&self.about.root).and_then(|root| self.began_with(root.as_fd())) {
            Ok(same) => !same,
            Err(error) => is_absent(&error),
        }
    }

    /// Whether this directory is the tree that the workspace began with.
    pub(crate) fn began_with(&self, root: BorrowedFd<'_>) -> io::Result<bool> {
        let found = tree::stat_of(root)?;
        let numbers = (found.device, found.inode) == (self.about.device, self.about.inode);
        Ok(numbers && (self.about.born.is_none() || self.about.born == born(root)?))
    }
}

/// When a directory came to be, if the file system tells.
pub(crate) fn born(directory: BorrowedFd<'_>) -> io::Result<Option<Born>> {
    let created = File::from(directory.try_clone_to_owned()?).metadata()?.created().ok();
    let since = created.and_then(|created| created.duration_since(UNIX_EPOCH).ok());
    Ok(since.map(|since| (since.as_secs(), since.subsec_nanos())))
}
