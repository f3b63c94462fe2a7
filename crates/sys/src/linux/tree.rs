//! Files by descriptor: every call names one entry of a directory that is already open, and follows no symbolic link.
//!
//! What works on a tree that somebody else writes to uses these, so that no name can be made to mean another file
//! between the look at it and the use of it.

mod data;
mod entry;
mod names;
mod stamp;

pub use data::{DataRange, copy_data, data_after, free_bytes, share_data, sync_file_system};
pub use entry::{
    Node, Replace, change_mode, change_owner, create_file, link, make_directory, make_node, make_symlink, open_file,
    open_file_to_write, read_symlink, remove_directory, remove_file, rename, set_modified, try_lock,
};
pub use names::{attribute, attributes, names, set_attribute, ways};
pub use stamp::{Kind, Moment, Stat, file_system, stat, stat_of};

use super::call::Errno;
use super::mount;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Opens a directory by an absolute path of which no component is a symbolic link.
pub fn open_root(path: &Path) -> io::Result<OwnedFd> {
    let place = mount::locate(&text(path.as_os_str())?)?;
    reopen(&place)
}

/// Opens a directory below another one: on the same file system, and through no symbolic link. An empty path is the
/// directory itself.
pub fn open_below(root: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { OsStr::new(".") } else { path.as_os_str() };
    Ok(mount::open_directory_below(root, &text(path)?)?)
}

fn reopen(place: &OwnedFd) -> io::Result<OwnedFd> {
    use std::os::fd::AsFd;
    match mount::open_directory_below(place.as_fd(), c".") {
        Ok(directory) => Ok(directory),
        Err(Errno(libc::ENOTDIR)) => Err(io::ErrorKind::NotADirectory.into()),
        Err(other) => Err(other.into()),
    }
}

/// A name for the kernel.
fn text(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(io::Error::from)
}

#[cfg(test)]
mod tests;
