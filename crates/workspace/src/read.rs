//! Looking at one entry of a layer or a tree. The layer is the command's: it can have taken every permission away.

use crate::change::{Node, NodeKind};
use polder_sys::tree::{self, Kind, Stat};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// What is at a name, if anything is.
pub(crate) fn node(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<Node>> {
    let stat = match tree::stat(directory, name) {
        Ok(stat) => stat,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let kind = match stat.kind {
        Kind::File => NodeKind::File,
        Kind::Directory => NodeKind::Directory,
        Kind::Symlink => NodeKind::Symlink(tree::read_symlink(directory, name)?),
        Kind::CharDevice | Kind::BlockDevice => NodeKind::Special("device node"),
        Kind::Fifo => NodeKind::Special("named pipe"),
        Kind::Socket => NodeKind::Special("socket"),
    };
    Ok(Some(Node { kind, stat }))
}

pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether an overlay file system says "deleted" with this.
pub(crate) fn is_whiteout(stat: &Stat) -> bool {
    stat.kind == Kind::CharDevice && stat.device_number == 0
}

/// Opens a regular file of the layer, also one that its owner may not read.
pub(crate) fn open_own_file(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<File> {
    look_into_own_file(directory, name).map(|(file, _)| file)
}

/// The same, with what there is to know about it.
pub(crate) fn look_into_own_file(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<(File, Stat)> {
    match tree::open_file(directory, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            opened_for_a_moment(directory, name, 0o400, || tree::open_file(directory, name))
        }
        other => other,
    }
    .and_then(regular)
}

/// Does something to an entry of the layer with more permission bits than the command left it. The layer is ours, and the
/// bits are put back before anybody else looks.
pub(crate) fn opened_for_a_moment<T>(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    bits: u32,
    work: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let mode = tree::stat(directory, name)?.mode;
    tree::change_mode(directory, name, mode | bits)?;
    let done = work();
    tree::change_mode(directory, name, mode)?;
    done
}

/// Opens a regular file of the tree.
pub(crate) fn open_host_file(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<File> {
    tree::open_file(directory, name).and_then(regular).map(|(file, _)| file)
}

fn regular(file: File) -> io::Result<(File, Stat)> {
    let stat = tree::stat_of(file.as_fd())?;
    match stat.kind {
        Kind::File => Ok((file, stat)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    }
}
