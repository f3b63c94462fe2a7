//! What Linux offers a keeper: orphans come to it, so nobody can leave the tree by leaving its session.

use crate::errno::{Errno, check, check_int};
use std::os::fd::{AsRawFd, RawFd};

/// The unit of `ru_maxrss`.
pub(super) const RSS_UNIT_BYTES: i64 = 1024;
/// How often the keeper looks for orphans to end, and how long it waits in between: five seconds together. Whoever is
/// left then cannot be killed by us, such as a program of another user.
const ROUNDS_MAX: u32 = 1000;
const ROUND_MS: i32 = 5;

/// A copy of this process that runs `body`; the pid of it.
///
/// The raw call: the library's takes locks that another thread of the caller may have held when we were copied.
pub(super) fn fork(body: impl FnOnce()) -> Result<i32, Errno> {
    // SAFETY: without a stack the child runs on a copy of ours, and `body` does not return.
    let pid = check(unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) })?;
    if pid == 0 {
        body();
        // SAFETY: ends the copy without running anything of the caller's.
        unsafe { libc::_exit(125) };
    }
    Ok(pid as i32)
}

/// Whoever loses its parent below us becomes our child.
pub(super) fn gather_orphans() -> Result<(), Errno> {
    // SAFETY: plain numbers.
    check_int(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// The command does not outlive a keeper that was killed. A help only: exec of a setuid program forgets it.
pub(super) fn die_with_keeper() {
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
}

pub(super) fn close_from(first: RawFd) {
    // SAFETY: plain numbers.
    unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
}

pub(super) fn close_on_exec_from(first: RawFd) -> Result<(), Errno> {
    // SAFETY: plain numbers.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) })
        .map(drop)
}

/// Ends every child, and those who become our children by that, until there is none.
pub(super) fn end_orphans() {
    for _ in 0..ROUNDS_MAX {
        for_each_child(|pid| {
            // SAFETY: plain numbers; a child that was not waited for keeps its number.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        });
        loop {
            // SAFETY: collects whoever ended; their status does not matter.
            match check_int(unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) }) {
                Err(Errno(libc::ECHILD)) => return,
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
        // SAFETY: no descriptors, only the wait.
        unsafe { libc::poll(std::ptr::null_mut(), 0, ROUND_MS) };
    }
}

/// What one call lists, and what is read of one process; the fields that matter come first.
const LIST_BYTES: usize = 4096;
const STAT_BYTES: usize = 512;

/// Calls `end` for every process whose parent we are. Reads `/proc` by hand, because nothing may allocate here.
fn for_each_child(mut end: impl FnMut(i32)) {
    // SAFETY: no arguments.
    let own = unsafe { libc::getpid() };
    // SAFETY: a static path.
    let Ok(proc) = crate::errno::check_fd(i64::from(unsafe {
        libc::open(c"/proc".as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC)
    })) else {
        return;
    };
    let mut list = [0u8; LIST_BYTES];
    loop {
        // SAFETY: the buffer is valid for its length.
        let got = unsafe { libc::syscall(libc::SYS_getdents64, proc.as_raw_fd(), list.as_mut_ptr(), list.len()) };
        let Some(mut entries) = usize::try_from(got).ok().filter(|got| *got > 0).map(|got| &list[..got]) else {
            return;
        };
        // An entry: inode and offset of eight bytes each, its length in two, a type, and the name up to a NUL.
        while let Some(length) = entries.get(16..18).map(|two| usize::from(u16::from_ne_bytes([two[0], two[1]]))) {
            let Some((entry, rest)) = entries.split_at_checked(length.max(19)) else { break };
            if let Some(pid) = number(&entry[19..])
                && parent(proc.as_raw_fd(), &entry[19..]) == Some(own)
            {
                end(pid);
            }
            entries = rest;
        }
    }
}

/// The digits at the beginning of a name that consists of nothing else.
fn number(name: &[u8]) -> Option<i32> {
    let end = name.iter().position(|byte| !byte.is_ascii_digit()).filter(|end| *end > 0)?;
    let ends = matches!(name.get(end), Some(0 | b' '));
    ends.then(|| name[..end].iter().fold(0i32, |sum, digit| sum.wrapping_mul(10).wrapping_add(i32::from(digit - b'0'))))
}

/// The parent of a process, by its name in `/proc`.
fn parent(proc: RawFd, name: &[u8]) -> Option<i32> {
    let mut path = [0u8; 32];
    let digits = name.iter().position(|byte| *byte == 0).filter(|digits| digits + 6 <= path.len())?;
    path[..digits].copy_from_slice(&name[..digits]);
    path[digits..digits + 5].copy_from_slice(b"/stat");
    // SAFETY: the path ends in a NUL, because the buffer began as zeroes and is longer.
    let stat = unsafe { libc::openat(proc, path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC) };
    let stat = crate::errno::check_fd(i64::from(stat)).ok()?;
    let mut text = [0u8; STAT_BYTES];
    // SAFETY: the buffer is valid for its length.
    let got = check(unsafe { libc::read(stat.as_raw_fd(), text.as_mut_ptr().cast(), text.len()) } as i64).ok()?;
    let text = &text[..usize::try_from(got).ok()?];
    // `pid (name) state parent …`, where the name may contain anything.
    let after = text.iter().rposition(|byte| *byte == b')')? + 4;
    number(text.get(after..)?)
}
