//! The two sides of a workspace, held open: the layer, and the tree that it belongs to.

use crate::about::Mode;
use crate::store::StoreError;
use crate::workspace::Workspace;
use polder_sys::tree;
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
        if (found.device, found.inode) != (self.about.device, self.about.inode) {
            return Err(StoreError::Replaced { name: self.about.name.clone(), root: self.about.root.clone() });
        }
        let base = match self.about.mode {
            Mode::Cow => None,
            Mode::Worktree => Some(tree::open_root(&self.base()).map_err(self.fault("open the copy of"))?),
        };
        Ok(Sides { layer, tree: root, base })
    }
}
