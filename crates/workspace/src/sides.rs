//! The two sides of a workspace, held open: the layer, and the tree that it belongs to.

use crate::about::Mode;
use crate::read::is_absent;
use crate::store::StoreError;
use crate::workspace::Workspace;
use polder_sys::tree::{self, Stat};
use std::os::fd::{AsFd, OwnedFd};

/// Layer and tree. What the paths mean can change; what these mean cannot.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) layer: OwnedFd,
    pub(crate) tree: OwnedFd,
    /// What the command saw below its layer, where that is a copy.
    pub(crate) base: Option<OwnedFd>,
}

impl Workspace {
    /// Opens both sides, if the tree is still the one that the workspace began with.
    pub(crate) fn sides(&self) -> Result<Sides, StoreError> {
        let layer = self.open_layer().map_err(self.fault("open the layer of"))?;
        let root = tree::open_root(&self.about.root).map_err(self.fault("open the tree of"))?;
        let found = tree::stat_of(root.as_fd()).map_err(self.fault("open the tree of"))?;
        if !self.began_with(&found) {
            return Err(StoreError::Replaced { name: self.about.name.clone(), root: self.about.root.clone() });
        }
        let base = match self.about.mode {
            Mode::Cow => None,
            Mode::Worktree => Some(tree::open_root(&self.base()).map_err(self.fault("open the copy of"))?),
        };
        Ok(Sides { layer, tree: root, base })
    }

    /// Whether the tree is no more, or another one is at its path. One that cannot be looked at is there.
    pub(crate) fn is_tree_gone(&self) -> bool {
        match tree::open_root(&self.about.root).and_then(|root| tree::stat_of(root.as_fd())) {
            Ok(found) => !self.began_with(&found),
            Err(error) => is_absent(&error),
        }
    }

    fn began_with(&self, found: &Stat) -> bool {
        (found.device, found.inode) == (self.about.device, self.about.inode)
    }
}
