//! Copying the files of a tree, one listed path after the other, by descriptor.

use super::error::WorktreeError;
use super::private::Owner;
use crate::read::open_host_file;
use crate::relative::Relative;
use polder_sys::tree::{self, Kind, Stat};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// Bytes that must stay free.
const SPARE_BYTES: u64 = 1 << 20;

/// A tree, and perhaps the place that it is copied to. The directory of the last path stays open: lists are in order.
pub(crate) struct Files {
    root: PathBuf,
    from: OwnedFd,
    to: Option<OwnedFd>,
    owner: Owner,
    last: Option<(PathBuf, Option<OwnedFd>)>,
}

impl Files {
    pub(crate) fn open(root: &Path, to: Option<&Path>, owner: Owner) -> Result<Self, WorktreeError> {
        let from = tree::open_root(root).map_err(WorktreeError::io("open", root))?;
        let to = to.map(|to| tree::open_root(to).map_err(WorktreeError::io("open", to))).transpose()?;
        Ok(Self { root: root.to_owned(), from, to, owner, last: None })
    }

    /// Copies one path, if the tree has a file or a link there. What is gone, or behind a link, is gone to git as well.
    pub(crate) fn take(&mut self, path: &Relative) -> Result<bool, WorktreeError> {
        self.take_one(path).map_err(WorktreeError::io("copy", &self.root.join(path.as_path())))
    }

    fn take_one(&mut self, path: &Relative) -> io::Result<bool> {
        self.enter(path.parent())?;
        let Some((_, Some(holder))) = &self.last else { return Ok(false) };
        let stat = match tree::stat(holder.as_fd(), path.name()) {
            Ok(stat) => stat,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        match stat.kind {
            Kind::File | Kind::Symlink => {}
            // A directory in the place of a file has files of its own; the rest no tree needs.
            Kind::Directory | Kind::CharDevice | Kind::BlockDevice | Kind::Fifo | Kind::Socket => return Ok(false),
        }
        let Some(to) = &self.to else { return Ok(true) };
        let place = make_directories(&self.from, to, path.parent(), self.owner)?;
        let name = path.name();
        if stat.kind == Kind::Symlink {
            tree::make_symlink(place.as_fd(), name, &tree::read_symlink(holder.as_fd(), name)?)?;
        } else {
            let from = open_host_file(holder.as_fd(), name)?;
            let stat = tree::stat_of(from.as_fd())?;
            let free = tree::free_bytes(place.as_fd())?;
            if stat.allocated.saturating_add(SPARE_BYTES) > free {
                let why = format!("the store has {free} bytes free, and the file needs {}", stat.allocated);
                return Err(io::Error::new(io::ErrorKind::StorageFull, why));
            }
            let file = tree::create_file(place.as_fd(), name, 0o600)?;
            tree::copy_data(&from, &file, stat.size)?;
            drop(file);
        }
        self.finish(&place, name, &stat)?;
        Ok(true)
    }

    /// Makes an empty directory: the place of a submodule that nobody has fetched.
    pub(crate) fn take_directory(&mut self, path: &Relative) -> Result<(), WorktreeError> {
        let Some(to) = &self.to else { return Ok(()) };
        let made = make_directories(&self.from, to, path.as_path(), self.owner);
        made.map(drop).map_err(WorktreeError::io("make", &self.root.join(path.as_path())))
    }

    fn enter(&mut self, parent: &Path) -> io::Result<()> {
        if self.last.as_ref().is_some_and(|(last, _)| last == parent) {
            return Ok(());
        }
        let opened = match tree::open_below(self.from.as_fd(), parent) {
            Ok(opened) => Some(opened),
            Err(error) if is_elsewhere(&error) => None,
            Err(error) => return Err(error),
        };
        self.last = Some((parent.to_owned(), opened));
        Ok(())
    }

    fn finish(&self, place: &OwnedFd, name: &OsStr, stat: &Stat) -> io::Result<()> {
        if self.owner.0.is_some() {
            tree::change_owner(place.as_fd(), name, stat.uid, stat.gid)?;
        }
        if stat.kind == Kind::File {
            // Bits that give another's rights are nothing that a copy needs.
            tree::change_mode(place.as_fd(), name, stat.mode & 0o777)?;
        }
        tree::set_modified(place.as_fd(), name, stat.modified)
    }
}

/// Whether a directory of a path is not there, or a link or a file by now.
fn is_elsewhere(error: &io::Error) -> bool {
    const ELOOP: i32 = 40;
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(ELOOP)
}

/// A directory of the copy, with all above it, as the tree has them.
fn make_directories(from: &OwnedFd, to: &OwnedFd, path: &Path, owner: Owner) -> io::Result<OwnedFd> {
    match tree::open_below(to.as_fd(), path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    let mut here = PathBuf::new();
    for part in path.components() {
        let Component::Normal(name) = part else { continue };
        let holder = tree::open_below(to.as_fd(), &here)?;
        let original = tree::open_below(from.as_fd(), &here).and_then(|above| tree::stat(above.as_fd(), name))?;
        match tree::make_directory(holder.as_fd(), name, 0o700) {
            Ok(()) => {
                if owner.0.is_some() {
                    tree::change_owner(holder.as_fd(), name, original.uid, original.gid)?;
                }
                tree::change_mode(holder.as_fd(), name, original.mode & 0o777 | 0o700)?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        here.push(name);
    }
    tree::open_below(to.as_fd(), path)
}
