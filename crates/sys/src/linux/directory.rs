//! A directory by its descriptor. Everything in it is reached by one name, and a name is never followed as a link: what a
//! command wrote there cannot lead us elsewhere, not even while it is still writing.

use super::call::{Errno, check_int};
use super::mount;
use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The longest text of a symbolic link that the kernel has.
const LINK_BYTES_MAX: usize = 4096;

/// An open directory.
#[derive(Debug)]
pub struct Directory(File);

impl Directory {
    /// Opens an absolute path of which no component is a symbolic link.
    pub fn at(path: &Path) -> io::Result<Self> {
        let place = File::from(mount::locate(&CString::new(path.as_os_str().as_bytes())?)?);
        Self(place).enter(OsStr::new("."))
    }

    /// A directory in this one.
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        self.open(name, libc::O_RDONLY | libc::O_DIRECTORY, 0).map(Self)
    }

    /// A handle on whatever has this name, for asking what it is.
    pub fn look(&self, name: &OsStr) -> io::Result<File> {
        self.open(name, libc::O_PATH, 0)
    }

    /// A regular file, to read; a pipe that somebody put there does not make us wait.
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        let file = self.open(name, libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY, 0)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::from(io::ErrorKind::InvalidInput)) }
    }

    /// A new file, to write.
    pub fn create(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        self.open(name, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, mode)
    }

    /// A file that is there or is made: for locks and marks, whose content nobody reads.
    pub fn mark(&self, name: &OsStr) -> io::Result<File> {
        self.open(name, libc::O_RDWR | libc::O_CREAT | libc::O_NONBLOCK, 0o600)
    }

    fn open(&self, name: &OsStr, flags: i32, mode: u32) -> io::Result<File> {
        let name = single(name)?;
        let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: the name outlives the call.
        let fd = check_int(unsafe { libc::openat(self.0.as_raw_fd(), name.as_ptr(), flags, mode) })?;
        // SAFETY: the call has just given us this descriptor, and nobody else knows it.
        Ok(File::from(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Makes a directory.
    pub fn make(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        let name = single(name)?;
        // SAFETY: the name outlives the call.
        done(unsafe { libc::mkdirat(self.0.as_raw_fd(), name.as_ptr(), mode) })
    }

    /// Makes a symbolic link.
    pub fn make_link(&self, name: &OsStr, text: &OsStr) -> io::Result<()> {
        let (name, text) = (single(name)?, CString::new(text.as_bytes())?);
        // SAFETY: both texts outlive the call.
        done(unsafe { libc::symlinkat(text.as_ptr(), self.0.as_raw_fd(), name.as_ptr()) })
    }

    /// The text of a symbolic link.
    pub fn link_text(&self, name: &OsStr) -> io::Result<OsString> {
        let name = single(name)?;
        let mut text = vec![0u8; LINK_BYTES_MAX];
        // SAFETY: the name outlives the call, and the buffer has the length that is told.
        let length =
            unsafe { libc::readlinkat(self.0.as_raw_fd(), name.as_ptr(), text.as_mut_ptr().cast(), text.len()) };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        text.truncate(length);
        Ok(OsString::from_vec(text))
    }

    /// Gives something in this directory a name in another one, where there must be nothing of that name.
    pub fn rename(&self, name: &OsStr, target: &Self, new: &OsStr) -> io::Result<()> {
        let (name, new) = (single(name)?, single(new)?);
        let (from, to) = (self.0.as_raw_fd(), target.0.as_raw_fd());
        // By its number: musl has no function for it, and a static binary would not link.
        // SAFETY: both names outlive the call.
        let answer = unsafe {
            libc::syscall(libc::SYS_renameat2, from, name.as_ptr(), to, new.as_ptr(), libc::RENAME_NOREPLACE)
        };
        done(if answer == 0 { 0 } else { -1 })
    }

    /// Removes a name that is not a directory's.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        let name = single(name)?;
        // SAFETY: the name outlives the call.
        done(unsafe { libc::unlinkat(self.0.as_raw_fd(), name.as_ptr(), 0) })
    }

    /// Removes an empty directory.
    pub fn remove_empty(&self, name: &OsStr) -> io::Result<()> {
        let name = single(name)?;
        // SAFETY: the name outlives the call.
        done(unsafe { libc::unlinkat(self.0.as_raw_fd(), name.as_ptr(), libc::AT_REMOVEDIR) })
    }

    /// Lets its owner do everything with a directory that `look` found; its rights may have been taken away.
    pub fn open_up(found: &File) -> io::Result<()> {
        fs::set_permissions(by_number(found), Permissions::from_mode(0o700))
    }

    /// The names in it, at most this many, in no order.
    pub fn names(&self, max: usize) -> io::Result<Vec<OsString>> {
        fs::read_dir(by_number(&self.0))?.take(max).map(|entry| entry.map(|entry| entry.file_name())).collect()
    }

    /// The directory itself, for its rights, owner and times.
    pub fn file(&self) -> &File {
        &self.0
    }

    /// Waits until everything on this file system is on the disk.
    pub fn sync_all(&self) -> io::Result<()> {
        // SAFETY: the descriptor is ours for the length of the call.
        done(unsafe { libc::syncfs(self.0.as_raw_fd()) })
    }
}

/// A path that is this descriptor and nothing else, whatever has its name meanwhile.
fn by_number(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// One name: nothing that leads through another directory.
fn single(name: &OsStr) -> io::Result<CString> {
    if name.is_empty() || name == ".." || name.as_bytes().contains(&b'/') {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    Ok(CString::new(name.as_bytes())?)
}

fn done(answer: i32) -> io::Result<()> {
    check_int(answer).map(drop).map_err(|Errno(number)| io::Error::from_raw_os_error(number))
}

#[cfg(test)]
mod tests;
