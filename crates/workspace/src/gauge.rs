//! How much a layer takes on the disk. Somebody may be writing to it meanwhile.

use crate::store::StoreError;
use crate::workspace::Workspace;
use polder_sys::tree::{self, Kind};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// What every name costs beside its content: file systems keep a record for each.
const RECORD_BYTES: u64 = 256;
/// Each level holds a descriptor. What is deeper counts as more than anybody allowed.
const DEPTH_MAX: usize = 512;

/// A layer that is measured while a command works on it.
#[derive(Debug)]
pub struct Gauge {
    layer: OwnedFd,
}

impl Workspace {
    /// For measuring the layer.
    pub fn gauge(&self) -> Result<Gauge, StoreError> {
        Ok(Gauge { layer: self.open_layer().map_err(self.fault("open the layer of"))? })
    }
}

impl Gauge {
    /// Bytes that the layer takes, counted no further than a little above `enough`. What has no name any more is not found,
    /// and neither is what lies in a directory that its owner closed.
    pub fn bytes(&self, enough: u64) -> io::Result<u64> {
        let mut open: Vec<(OwnedFd, Vec<OsString>)> = Vec::new();
        let root = self.layer.try_clone()?;
        let names = tree::names(root.as_fd())?;
        open.push((root, names));
        let mut sum = 0_u64;
        while let Some((directory, names)) = open.last_mut() {
            let Some(name) = names.pop() else {
                open.pop();
                continue;
            };
            let Ok(stat) = tree::stat(directory.as_fd(), &name) else {
                // Gone since it was listed.
                continue;
            };
            sum = sum.saturating_add(RECORD_BYTES).saturating_add(stat.allocated);
            if sum > enough {
                return Ok(sum);
            }
            if stat.kind == Kind::Directory
                && let Ok(below) = tree::open_below(directory.as_fd(), Path::new(&name))
                && let Ok(names) = tree::names(below.as_fd())
            {
                if open.len() == DEPTH_MAX {
                    return Ok(u64::MAX);
                }
                open.push((below, names));
            }
        }
        Ok(sum)
    }
}
