//! Walking a layer beside the tree below it. The cost is that of the change: what the layer does not have is not looked at.

use crate::change::{Change, Changes, Forged, Node, NodeKind, Shared, What};
use crate::content::same_content;
use crate::marks::{Marks, marks};
use crate::read::{is_absent, is_whiteout, node};
use crate::relative::Relative;
use polder_sys::tree;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Directories below each other. No honest tree is deeper, and each level holds two descriptors.
pub(crate) const DEPTH_MAX: usize = 256;
/// Bytes of a path. The kernel takes 4095 at once, and an apply needs some for the names that it uses aside.
const PATH_BYTES_MAX: usize = 3900;
/// Changed paths of one layer: what is more is no review but an attack on the memory of whoever looks.
pub(crate) const CHANGES_MAX: usize = 1_000_000;

/// Whose the repository at the root of the layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repository {
    /// The tree's, like everything else.
    Trees,
    /// The workspace's own: it stays there.
    Own,
}

/// Everything that the layer changes.
pub(crate) fn compare(upper: BorrowedFd<'_>, lower: BorrowedFd<'_>, own: Repository) -> io::Result<Changes> {
    let mut walk = Walk { changes: Vec::new(), forged: Vec::new(), shared: Vec::new(), own };
    // The root of the layer can be opaque no more than any other directory that the tree has.
    let marks = marks(upper, OsStr::new("."))?;
    walk.directory(upper, Some(lower), None, !marks.opaque, 0)?;
    let Walk { mut changes, forged, shared, own: _ } = walk;
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Changes { changes, forged, shared })
}

struct Walk {
    changes: Vec<Change>,
    forged: Vec<Forged>,
    shared: Vec<Shared>,
    own: Repository,
}

impl Walk {
    /// One directory of the layer. Where it is not merged with that of the tree, what it lacks is deleted.
    fn directory(
        &mut self,
        upper: BorrowedFd<'_>,
        lower: Option<BorrowedFd<'_>>,
        path: Option<&Relative>,
        merged: bool,
        depth: usize,
    ) -> io::Result<()> {
        let names = tree::names(upper)?;
        let private = path.is_none() && self.own == Repository::Own;
        let is_own = |name: &OsStr| private && name == ".git";
        let names: Vec<_> = names.into_iter().filter(|name| !is_own(name)).collect();
        for name in &names {
            let here = at(path, name);
            self.entry(upper, lower, name, &here, merged, depth)?;
        }
        if let (Some(lower), false) = (lower, merged) {
            let kept: BTreeSet<_> = names.iter().collect();
            for name in tree::names(lower)?.iter().filter(|name| !kept.contains(name) && !is_own(name)) {
                self.deleted(lower, name, &at(path, name), depth)?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        upper: BorrowedFd<'_>,
        lower: Option<BorrowedFd<'_>>,
        name: &OsStr,
        path: &Relative,
        merged: bool,
        depth: usize,
    ) -> io::Result<()> {
        if self.is_too_long(path) {
            return Ok(());
        }
        let Marks { opaque, origin, forged } = marks(upper, name)?;
        if let Some(why) = forged {
            self.forged.push(Forged { path: path.clone(), why });
            return Ok(());
        }
        let Some(after) = node(upper, name)? else { return Ok(()) };
        if is_whiteout(&after.stat) {
            return match lower {
                Some(lower) => self.deleted(lower, name, path, depth),
                None => Ok(()),
            };
        }
        let before = match lower {
            Some(lower) => node(lower, name)?,
            None => None,
        };
        if depth == DEPTH_MAX {
            let why = format!("it lies deeper than {DEPTH_MAX} directories");
            self.forged.push(Forged { path: path.clone(), why });
            return Ok(());
        }
        let is_directory = |node: &Node| node.kind == NodeKind::Directory;
        let both = before.as_ref().is_some_and(is_directory) && is_directory(&after);
        let what = match (&before, lower) {
            (Some(before), Some(lower)) => told_apart(before, &after, upper, lower, name)?,
            _ => Some(What::Added),
        };
        if let (Some(before), Some(lower)) = (&before, lower)
            && is_directory(before)
            && !is_directory(&after)
        {
            self.all_deleted(lower, name, path, depth)?;
        }
        if let (Some(before), true) = (&before, both) {
            let opaque = opaque || !merged;
            self.shared.push(Shared { path: path.clone(), stat: before.stat, origin: origin.clone(), opaque });
        }
        let descend = is_directory(&after);
        if let Some(what) = what {
            self.push(Change { path: path.clone(), what, before, after: Some(after), copied_from_tree: origin })?;
        }
        if descend {
            let Some(deeper) = self.enter(upper, name, path)? else { return Ok(()) };
            let below = match lower {
                Some(lower) if both => match self.enter(lower, name, path)? {
                    Some(below) => Some(below),
                    None => return Ok(()),
                },
                _ => None,
            };
            let below = below.as_ref().map(AsFd::as_fd);
            self.directory(deeper.as_fd(), below, Some(path), merged && !opaque, depth + 1)?;
        }
        Ok(())
    }

    /// A path of the tree that is gone, and what is below it.
    fn deleted(&mut self, lower: BorrowedFd<'_>, name: &OsStr, path: &Relative, depth: usize) -> io::Result<()> {
        if self.is_too_long(path) {
            return Ok(());
        }
        let Some(before) = node(lower, name)? else { return Ok(()) };
        let is_directory = before.kind == NodeKind::Directory;
        let what = What::Deleted;
        self.push(Change { path: path.clone(), what, before: Some(before), after: None, copied_from_tree: None })?;
        if is_directory { self.all_deleted(lower, name, path, depth) } else { Ok(()) }
    }

    /// What was in a directory of the tree.
    fn all_deleted(&mut self, lower: BorrowedFd<'_>, name: &OsStr, path: &Relative, depth: usize) -> io::Result<()> {
        let Some(lower) = self.enter(lower, name, path)? else { return Ok(()) };
        if depth == DEPTH_MAX {
            return Err(too_much(format!("`{path:?}` lies deeper than {DEPTH_MAX} directories")));
        }
        for name in tree::names(lower.as_fd())? {
            self.deleted(lower.as_fd(), &name, &path.child(&name), depth + 1)?;
        }
        Ok(())
    }

    /// A directory that the caller may not look into is reported, and what is in it stays as it is.
    fn enter(&mut self, from: BorrowedFd<'_>, name: &OsStr, path: &Relative) -> io::Result<Option<OwnedFd>> {
        let listed = tree::open_below(from, Path::new(name)).and_then(|opened| {
            // Searching needs a permission of its own.
            tree::stat(opened.as_fd(), OsStr::new(".")).map(|_| opened)
        });
        match listed {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let why = "its permissions keep you from looking into it".to_owned();
                self.forged.push(Forged { path: path.clone(), why });
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let why = "another file system is mounted there".to_owned();
                self.forged.push(Forged { path: path.clone(), why });
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// A walk goes on by descriptor where no path can be opened any more; what lies there can be neither applied nor
    /// taken back.
    fn is_too_long(&mut self, path: &Relative) -> bool {
        let long = path.as_path().as_os_str().len() > PATH_BYTES_MAX;
        if long {
            let why = format!("its path has more than {PATH_BYTES_MAX} bytes");
            self.forged.push(Forged { path: path.clone(), why });
        }
        long
    }

    fn push(&mut self, change: Change) -> io::Result<()> {
        if self.changes.len() == CHANGES_MAX {
            return Err(too_much(format!("the layer changes more than {CHANGES_MAX} paths")));
        }
        self.changes.push(change);
        Ok(())
    }
}

/// An entry of a directory, which can be the root.
pub(crate) fn at(path: Option<&Relative>, name: &OsStr) -> Relative {
    path.map_or_else(|| Relative::at_root(name), |path| path.child(name))
}

fn too_much(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::QuotaExceeded, what)
}

/// How two things at one path differ, if they do.
pub(crate) fn told_apart(
    before: &Node,
    after: &Node,
    upper: BorrowedFd<'_>,
    lower: BorrowedFd<'_>,
    name: &OsStr,
) -> io::Result<Option<What>> {
    let modes_differ = before.stat.mode != after.stat.mode;
    Ok(match (&before.kind, &after.kind) {
        (NodeKind::Symlink(old), NodeKind::Symlink(new)) => (old != new).then_some(What::Target),
        (NodeKind::Directory, NodeKind::Directory) => modes_differ.then_some(What::Mode),
        (NodeKind::File, NodeKind::File) => match same_content(upper, lower, name, before, after) {
            Ok(true) => modes_differ.then_some(What::Mode),
            Ok(false) => Some(What::Modified),
            // Gone in between: what is there now is for the next look.
            Err(error) if is_absent(&error) => Some(What::Modified),
            Err(error) => return Err(error),
        },
        (NodeKind::Special(old), NodeKind::Special(new)) if old == new => None,
        _ => Some(What::Type),
    })
}
