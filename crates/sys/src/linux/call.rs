//! Opening a path, beside the checks that every system shares. Used between clone and exec: nothing here allocates.

pub(crate) use crate::errno::{Errno, check, check_fd, check_int};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// Opens a path by one call; musl's `open` makes a second one to set a flag that every kernel of this century knows.
pub(crate) fn open_at(path: &CStr, flags: i32, mode: u32) -> Result<OwnedFd, Errno> {
    // SAFETY: the path outlives the call.
    check_fd(unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, mode) })
}

/// The same from a directory.
pub(crate) fn open_in(directory: BorrowedFd<'_>, path: &CStr, flags: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: the path outlives the call.
    check_fd(unsafe { libc::syscall(libc::SYS_openat, directory.as_raw_fd(), path.as_ptr(), flags, 0) })
}
