//! Making, changing and removing one entry of an open directory.

use super::super::call::{Errno, check, check_fd, check_int};
use super::super::syscalls::SYS_FCHMODAT2;
use super::stamp::Moment;
use super::text;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;

/// Whether a rename may put something away that has the new name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// What had the name is gone afterwards.
    Existing,
    /// A name that is taken is an error.
    Nothing,
}

const SYMLINK_BYTES_MAX: usize = 4096;

/// Opens a file to read it. A pipe does not wait for its writer; the caller looks at the kind.
pub fn open_file(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<File> {
    open(directory, name, libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY, 0)
}

/// Opens a file to read and to write it, as [`open_file`] does.
pub fn open_file_to_write(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<File> {
    open(directory, name, libc::O_RDWR | libc::O_NONBLOCK | libc::O_NOCTTY, 0)
}

/// Makes a file that did not exist, to write it.
pub fn create_file(directory: BorrowedFd<'_>, name: &OsStr, mode: u32) -> io::Result<File> {
    open(directory, name, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, mode)
}

fn open(directory: BorrowedFd<'_>, name: &OsStr, flags: i32, mode: u32) -> io::Result<File> {
    let name = text(name)?;
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the name outlives the call.
    let file = check_fd(unsafe { libc::syscall(libc::SYS_openat, directory.as_raw_fd(), name.as_ptr(), flags, mode) })?;
    Ok(File::from(file))
}

/// Makes a directory.
pub fn make_directory(directory: BorrowedFd<'_>, name: &OsStr, mode: u32) -> io::Result<()> {
    let name = text(name)?;
    // SAFETY: the name outlives the call.
    check_int(unsafe { libc::mkdirat(directory.as_raw_fd(), name.as_ptr(), mode) })?;
    Ok(())
}

/// Makes a symbolic link.
pub fn make_symlink(directory: BorrowedFd<'_>, name: &OsStr, target: &OsStr) -> io::Result<()> {
    let (name, target) = (text(name)?, text(target)?);
    // SAFETY: both texts outlive the call.
    check_int(unsafe { libc::symlinkat(target.as_ptr(), directory.as_raw_fd(), name.as_ptr()) })?;
    Ok(())
}

/// What is neither file, directory nor link, and that anybody may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A named pipe.
    Fifo,
    /// By which an overlay file system says "deleted"; since Linux 5.8 not only for root.
    Whiteout,
}

/// Makes a node.
pub fn make_node(directory: BorrowedFd<'_>, name: &OsStr, node: Node) -> io::Result<()> {
    let name = text(name)?;
    let mode = match node {
        Node::Fifo => libc::S_IFIFO | 0o600,
        Node::Whiteout => libc::S_IFCHR,
    };
    // SAFETY: the name outlives the call.
    check_int(unsafe { libc::mknodat(directory.as_raw_fd(), name.as_ptr(), mode, 0) })?;
    Ok(())
}

/// Where a symbolic link points.
pub fn read_symlink(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<OsString> {
    let name = text(name)?;
    let mut target = vec![0_u8; SYMLINK_BYTES_MAX];
    // SAFETY: the name outlives the call, and the buffer is as long as is said.
    let length = check(unsafe {
        libc::readlinkat(directory.as_raw_fd(), name.as_ptr(), target.as_mut_ptr().cast(), target.len()) as i64
    })?;
    target.truncate(length as usize);
    Ok(OsString::from_vec(target))
}

/// Gives a file a second name.
pub fn link(from_directory: BorrowedFd<'_>, from: &OsStr, to_directory: BorrowedFd<'_>, to: &OsStr) -> io::Result<()> {
    let (from, to) = (text(from)?, text(to)?);
    let (from_directory, to_directory) = (from_directory.as_raw_fd(), to_directory.as_raw_fd());
    // SAFETY: both names outlive the call.
    check_int(unsafe { libc::linkat(from_directory, from.as_ptr(), to_directory, to.as_ptr(), 0) })?;
    Ok(())
}

/// Moves an entry within one file system.
pub fn rename(
    from_directory: BorrowedFd<'_>,
    from: &OsStr,
    to_directory: BorrowedFd<'_>,
    to: &OsStr,
    replace: Replace,
) -> io::Result<()> {
    let (from, to) = (text(from)?, text(to)?);
    let flags = match replace {
        Replace::Existing => 0,
        Replace::Nothing => libc::RENAME_NOREPLACE,
    };
    // SAFETY: both names outlive the call.
    check(unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            from_directory.as_raw_fd(),
            from.as_ptr(),
            to_directory.as_raw_fd(),
            to.as_ptr(),
            flags,
        )
    })?;
    Ok(())
}

/// Removes whatever is not a directory.
pub fn remove_file(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    remove(directory, name, 0)
}

/// Removes an empty directory.
pub fn remove_directory(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    remove(directory, name, libc::AT_REMOVEDIR)
}

fn remove(directory: BorrowedFd<'_>, name: &OsStr, flags: i32) -> io::Result<()> {
    let name = text(name)?;
    // SAFETY: the name outlives the call.
    check_int(unsafe { libc::unlinkat(directory.as_raw_fd(), name.as_ptr(), flags) })?;
    Ok(())
}

/// Sets the permission bits of a file or directory; a symbolic link is refused.
pub fn change_mode(directory: BorrowedFd<'_>, name: &OsStr, mode: u32) -> io::Result<()> {
    let name_text = text(name)?;
    let (flags, fd) = (libc::AT_SYMLINK_NOFOLLOW, directory.as_raw_fd());
    // SAFETY: the name outlives the call.
    match check(unsafe { libc::syscall(SYS_FCHMODAT2, fd, name_text.as_ptr(), mode, flags) }) {
        Ok(_) => return Ok(()),
        // It is of Linux 6.6, and a filter around us may not know it.
        Err(Errno(libc::ENOSYS | libc::EPERM)) => {}
        Err(other) => return Err(other.into()),
    }
    // A handle needs no permission on the file and cannot be exchanged meanwhile.
    let handle = open(directory, name, libc::O_PATH, 0)?;
    let path = text(OsStr::new(&format!("/proc/self/fd/{}", handle.as_raw_fd())))?;
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::chmod(path.as_ptr(), mode) })?;
    Ok(())
}

/// Sets owner and group.
pub fn change_owner(directory: BorrowedFd<'_>, name: &OsStr, uid: u32, gid: u32) -> io::Result<()> {
    let name = text(name)?;
    // SAFETY: the name outlives the call.
    check_int(unsafe { libc::fchownat(directory.as_raw_fd(), name.as_ptr(), uid, gid, libc::AT_SYMLINK_NOFOLLOW) })?;
    Ok(())
}

/// Sets when the content changed; the time of the last access is left alone.
pub fn set_modified(directory: BorrowedFd<'_>, name: &OsStr, moment: Moment) -> io::Result<()> {
    let name = text(name)?;
    let times = [
        libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_OMIT },
        libc::timespec { tv_sec: moment.seconds, tv_nsec: moment.nanoseconds },
    ];
    // SAFETY: the name and the two times outlive the call.
    check_int(unsafe {
        libc::utimensat(directory.as_raw_fd(), name.as_ptr(), times.as_ptr(), libc::AT_SYMLINK_NOFOLLOW)
    })?;
    Ok(())
}

/// Takes the lock on an open file for as long as it is open, if nobody has it. Says whether it did.
pub fn try_lock(file: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: the descriptor is borrowed for the call.
    match check_int(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }) {
        Ok(_) => Ok(true),
        Err(Errno(libc::EWOULDBLOCK)) => Ok(false),
        Err(other) => Err(other.into()),
    }
}
