//! The set-group-ID bit on directories, where it hands the directory's group on to what is made in it (inode(7)), and
//! never on files, where it would make a program run as its group (execve(2)).
//!
//! A filter sees a path or a number and not what it leads to, so these calls are notified, and the shim makes them
//! itself: it opens what the call names, looks whether that is a directory, and changes the mode by that very
//! descriptor. Nothing can be exchanged in between. The shim has the command's ids, root and Landlock domain, and no
//! capability: it can give a mode to no directory to which the command could not have given every other.
//!
//! Runs in a cloned process: no allocation, no locks, no formatting.

use super::call::{Errno, check_fd, check_int};
use super::notify::{Notification, PATH_BYTES_MAX, Path, descriptor_of, read_path, still_waiting};
use super::syscalls::SYS_FCHMODAT2;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// A mode for what a call names.
struct Wanted {
    dir: RawFd,
    /// The address of the path; absent where the descriptor itself is meant.
    path: Option<u64>,
    mode: u32,
    flags: i32,
}

fn wanted(call: &Notification) -> Option<Wanted> {
    let [first, second, third, fourth, ..] = call.args;
    let at = |flags| Wanted { dir: first as RawFd, path: Some(second), mode: third as u32, flags };
    match i64::from(call.nr) {
        libc::SYS_fchmod => Some(Wanted { dir: first as RawFd, path: None, mode: second as u32, flags: 0 }),
        libc::SYS_fchmodat => Some(at(0)),
        SYS_FCHMODAT2 => Some(at(fourth as i32)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => Some(Wanted { dir: libc::AT_FDCWD, path: Some(first), mode: second as u32, flags: 0 }),
        _ => None,
    }
}

/// Whether a call is one of those that are made here. The mode is a register's, which nothing changes any more.
pub(super) fn takes(call: &Notification) -> bool {
    wanted(call).is_some_and(|wanted| wanted.mode & (libc::S_ISGID | libc::S_ISUID) != 0)
}

/// Makes the call, if it is about a directory.
pub(super) fn answer(call: &Notification, listener: BorrowedFd<'_>) -> Result<i64, Errno> {
    let Some(Wanted { dir, path, mode, flags }) = wanted(call) else { return Err(Errno(libc::EPERM)) };
    // The filter lets none of these come here.
    if mode & libc::S_ISUID != 0 {
        return Err(Errno(libc::EPERM));
    }
    if flags & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) != 0 {
        return Err(Errno(libc::EINVAL));
    }
    let mut text = [0u8; PATH_BYTES_MAX];
    let named = match path {
        None => descriptor_of(call.pid, if dir == libc::AT_FDCWD { -1 } else { dir })?,
        Some(address) => match read_path(call.pid, address, &mut text)? {
            path if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 => descriptor_of(call.pid, dir)?,
            path if path.to_bytes().first() == Some(&b'/') => open(libc::AT_FDCWD, path, flags)?,
            path => open(descriptor_of(call.pid, dir)?.as_raw_fd(), path, flags)?,
        },
    };
    if !is_directory(&named)? {
        return Err(Errno(libc::EPERM));
    }
    // What was opened was the caller's only if the caller is still there.
    still_waiting(listener, call.id)?;
    let mut line = Path::new();
    let own = line.descriptor(None, named.as_raw_fd());
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::chmod(own.as_ptr(), mode & 0o7777) }).map(i64::from)
}

/// A handle on what a path leads to. Links of the process table lead elsewhere for us than for the caller.
fn open(dir: RawFd, path: &CStr, flags: i32) -> Result<OwnedFd, Errno> {
    const RESOLVE_NO_MAGICLINKS: u64 = 2;
    let last = if flags & libc::AT_SYMLINK_NOFOLLOW != 0 { libc::O_NOFOLLOW } else { 0 };
    let how = [(libc::O_PATH | libc::O_CLOEXEC | last) as u64, 0, RESOLVE_NO_MAGICLINKS];
    // SAFETY: `how` has the layout of `open_how` (openat2(2)) and outlives the call, as the path does.
    check_fd(unsafe { libc::syscall(libc::SYS_openat2, dir, path.as_ptr(), how.as_ptr(), size_of_val(&how)) })
}

fn is_directory(handle: &OwnedFd) -> Result<bool, Errno> {
    // SAFETY: all-zero is a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is valid for writing.
    check_int(unsafe { libc::fstat(handle.as_raw_fd(), &raw mut stat) })?;
    Ok(stat.st_mode & libc::S_IFMT == libc::S_IFDIR)
}
