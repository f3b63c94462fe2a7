//! What a keeper can do on a Unix that gives it no orphans: the process group, and nothing beyond it.

use crate::errno::{Errno, check_int};
use std::os::fd::RawFd;

/// The unit of `ru_maxrss`.
pub(super) const RSS_UNIT_BYTES: i64 = 1;

/// A copy of this process that runs `body`; the pid of it.
pub(super) fn fork(body: impl FnOnce()) -> Result<i32, Errno> {
    // SAFETY: `body` obeys the rules of a forked child and does not return.
    let pid = check_int(unsafe { libc::fork() })?;
    if pid == 0 {
        body();
        // SAFETY: ends the copy without running anything of the caller's.
        unsafe { libc::_exit(125) };
    }
    Ok(pid)
}

/// Orphans go to the first process of the system.
pub(super) const fn gather_orphans() -> Result<(), Errno> {
    Ok(())
}

/// There is no such help here; the group is killed when the keeper sees its caller go.
pub(super) const fn die_with_keeper() {}

pub(super) fn close_from(first: RawFd) {
    for number in first..descriptors_max() {
        // SAFETY: plain numbers.
        unsafe { libc::close(number) };
    }
}

pub(super) fn close_on_exec_from(first: RawFd) -> Result<(), Errno> {
    for number in first..descriptors_max() {
        // SAFETY: plain numbers. A number that is not open needs nothing.
        match check_int(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) }) {
            Ok(_) | Err(Errno(libc::EBADF)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

fn descriptors_max() -> RawFd {
    // SAFETY: no arguments.
    unsafe { libc::getdtablesize() }
}

/// Whoever left the group cannot be found.
pub(super) const fn end_orphans() {}
