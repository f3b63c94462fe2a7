//! A workspace that begins with the changes of another one: its layer is a copy of the other's.
//!
//! A copy costs as much as the changes do, whatever the size of the tree. In return both are workspaces like any other:
//! each is compared with the tree, applied and thrown away by itself, and the first can go on.

use crate::read::{is_whiteout, open_own_file};
use polder_sys::tree::{self, Kind, Stat};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// As deep as a review looks: each level holds two descriptors.
const DEPTH_MAX: usize = 256;
/// Bytes that must stay free.
const SPARE_BYTES: u64 = 1 << 20;
/// The kernel's number for one layer; a copy gets its own.
const OWN_MARK: &str = "user.overlay.uuid";

/// A directory that is being copied.
struct Open {
    from: OwnedFd,
    to: OwnedFd,
    /// What is left to copy.
    names: Vec<OsString>,
    /// Its name above and what it was: the root has neither, and is there already.
    above: Option<(OsString, Stat)>,
}

/// Copies the content of a layer, with every mark, into an empty one. A tree can be deeper than the stack is long, so its
/// directories wait in a list.
pub(crate) fn copy_layer(from: OwnedFd, to: OwnedFd) -> io::Result<()> {
    let names = tree::names(from.as_fd())?;
    let mut open = vec![Open { from, to, names, above: None }];
    while !open.is_empty() {
        let depth = open.len();
        let Some(here) = open.last_mut() else { break };
        let Some(name) = here.names.pop() else {
            let Some(Open { above: Some((name, stat)), .. }) = open.pop() else { return Ok(()) };
            // Only now: filling it has changed its time, and its bits may forbid that.
            let holder = open.last().expect("invariant: the root is the only one without a holder");
            finish(holder.to.as_fd(), &name, &stat)?;
            continue;
        };
        let (from, to) = (here.from.as_fd(), here.to.as_fd());
        let stat = tree::stat(from, &name)?;
        match stat.kind {
            Kind::Directory => {
                if depth > DEPTH_MAX {
                    let why =
                        format!("the workspace to begin with has more than {DEPTH_MAX} directories in each other");
                    return Err(io::Error::new(io::ErrorKind::QuotaExceeded, why));
                }
                tree::make_directory(to, &name, 0o700)?;
                copy_marks(from, to, &name)?;
                let (from, to) = (tree::open_below(from, Path::new(&name))?, tree::open_below(to, Path::new(&name))?);
                let names = tree::names(from.as_fd())?;
                open.push(Open { from, to, names, above: Some((name, stat)) });
            }
            Kind::File => {
                let free = tree::free_bytes(to)?;
                if stat.allocated.saturating_add(SPARE_BYTES) > free {
                    let why = format!("the store has {free} bytes free, and a file needs {}", stat.allocated);
                    return Err(io::Error::new(io::ErrorKind::StorageFull, why));
                }
                let file = tree::create_file(to, &name, 0o600)?;
                tree::copy_data(&open_own_file(from, &name)?, &file, stat.size)?;
                copy_marks(from, to, &name)?;
                finish(to, &name, &stat)?;
            }
            Kind::Symlink => {
                tree::make_symlink(to, &name, &tree::read_symlink(from, &name)?)?;
                own(to, &name, &stat)?;
            }
            Kind::CharDevice if is_whiteout(&stat) => tree::make_node(to, &name, tree::Node::Whiteout)?,
            Kind::Fifo => tree::make_node(to, &name, tree::Node::Fifo)?,
            // Nobody listens to a copy of a socket, and nothing honest makes a device in a layer.
            Kind::Socket | Kind::CharDevice | Kind::BlockDevice => {}
        }
    }
    Ok(())
}

fn copy_marks(from: BorrowedFd<'_>, to: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    for attribute in tree::attributes(from, name)? {
        if attribute.as_bytes().starts_with(b"user.") && attribute != OWN_MARK {
            let value = tree::attribute(from, name, &attribute)?.unwrap_or_default();
            tree::set_attribute(to, name, &attribute, &value)?;
        }
    }
    Ok(())
}

fn finish(directory: BorrowedFd<'_>, name: &OsStr, stat: &Stat) -> io::Result<()> {
    // In this order: a change of owner takes bits away.
    own(directory, name, stat)?;
    tree::change_mode(directory, name, stat.mode)?;
    tree::set_modified(directory, name, stat.modified)
}

/// Root's workspaces belong to the owners of their trees; everybody else's are their own.
fn own(directory: BorrowedFd<'_>, name: &OsStr, stat: &Stat) -> io::Result<()> {
    if polder_sys::wait::effective_ids().0 == 0 {
        tree::change_owner(directory, name, stat.uid, stat.gid)?;
    }
    Ok(())
}
