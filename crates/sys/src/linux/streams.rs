//! The caller's three streams, as a relay needs them: their kind, and moving bytes without ever waiting.
//!
//! A stream's descriptor shares its open file description with the caller and with the caller's
//! other children, so nothing here sets `O_NONBLOCK` on it: [`private`] opens the same file once more.

use super::call::{Errno, check, check_fd, check_int};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

/// The kinds of file that can be a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// `/dev/null`.
    Null,
    /// A pipe, with a name or without.
    Pipe,
    /// A file with a position: a regular file or a block device.
    File,
    /// A terminal.
    Terminal,
    /// A connected socket that carries bytes.
    Socket,
    /// Any other character device.
    Device,
}

/// A descriptor that cannot be a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAStream {
    /// A directory: `openat` and `fchdir` walk from it through the host's mounts.
    Directory,
    /// Opened with `O_PATH`: it names a file and carries no bytes.
    Path,
    /// A socket that carries messages or is not connected.
    MessageSocket,
    /// A handle of the kernel's (pidfd, epoll, inotify, …) without bytes.
    Handle,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the file.
    Read,
    /// Into the file.
    Write,
}

/// The kind of a stream.
pub fn kind(fd: BorrowedFd<'_>) -> io::Result<Result<StreamKind, NotAStream>> {
    // SAFETY: plain numbers.
    let flags = check_int(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    let status = status(fd)?;
    Ok(match status.st_mode & libc::S_IFMT {
        _ if flags & libc::O_PATH != 0 => Err(NotAStream::Path),
        libc::S_IFDIR => Err(NotAStream::Directory),
        libc::S_IFIFO => Ok(StreamKind::Pipe),
        libc::S_IFREG | libc::S_IFBLK => Ok(StreamKind::File),
        libc::S_IFSOCK if is_byte_stream(fd)? => Ok(StreamKind::Socket),
        libc::S_IFSOCK => Err(NotAStream::MessageSocket),
        libc::S_IFCHR if status.st_rdev == libc::makedev(1, 3) => Ok(StreamKind::Null),
        libc::S_IFCHR if super::terminal::is_terminal(fd) => Ok(StreamKind::Terminal),
        libc::S_IFCHR => Ok(StreamKind::Device),
        _ => Err(NotAStream::Handle),
    })
}

fn status(fd: BorrowedFd<'_>) -> io::Result<libc::stat> {
    // SAFETY: all-zero is a valid `stat`, which the call fills.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        check_int(libc::fstat(fd.as_raw_fd(), &raw mut status))?;
        Ok(status)
    }
}

fn is_byte_stream(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let (mut kind, mut length): (libc::c_int, _) = (0, size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: room for one number, and its size.
    check_int(unsafe {
        let (level, option) = (libc::SOL_SOCKET, libc::SO_TYPE);
        libc::getsockopt(fd.as_raw_fd(), level, option, (&raw mut kind).cast(), &raw mut length)
    })?;
    Ok(kind == libc::SOCK_STREAM)
}

/// Whether two descriptors are one stream to a reader of both: the same pipe, socket, terminal or
/// open file. Two open files with positions of their own are not.
pub fn is_same(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> io::Result<bool> {
    let (of_a, of_b) = (status(a)?, status(b)?);
    if (of_a.st_dev, of_a.st_ino, of_a.st_rdev) != (of_b.st_dev, of_b.st_ino, of_b.st_rdev) {
        return Ok(false);
    }
    if of_a.st_mode & libc::S_IFMT != libc::S_IFREG {
        return Ok(true);
    }
    const KCMP_FILE: libc::c_int = 0;
    // SAFETY: plain numbers.
    let compared = check(unsafe {
        let own = libc::getpid();
        libc::syscall(libc::SYS_kcmp, own, own, KCMP_FILE, a.as_raw_fd(), b.as_raw_fd())
    });
    // A kernel without kcmp(2) leaves them apart: only the order of lines is at stake.
    Ok(compared == Ok(0))
}

/// The same file, opened once more: a description of our own, on which no call waits. Fails where
/// the file belongs to another user (a terminal after `su`), and for sockets.
pub fn private(fd: BorrowedFd<'_>, direction: Direction) -> io::Result<OwnedFd> {
    let path = CString::new(format!("/proc/self/fd/{}", fd.as_raw_fd()))?;
    let way = match direction {
        Direction::Read => libc::O_RDONLY,
        Direction::Write => libc::O_WRONLY,
    };
    let flags = way | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the path outlives the call.
    Ok(check_fd(i64::from(unsafe { libc::open(path.as_ptr(), flags) }))?)
}

/// Makes every call on a description of our own return at once.
pub fn never_wait(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: plain numbers.
    unsafe {
        let flags = check_int(libc::fcntl(fd.as_raw_fd(), libc::F_GETFL))?;
        check_int(libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK))?;
    }
    Ok(())
}

/// Writes to a socket, without waiting and without SIGPIPE.
pub fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the bytes are valid for their length.
    let put = check(unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) as i64 })?;
    Ok(put as usize)
}

/// Reads from a socket, without waiting.
pub fn receive(fd: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT;
    // SAFETY: the buffer is valid for its length.
    let got = check(unsafe { libc::recv(fd.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), flags) as i64 })?;
    Ok(got as usize)
}

/// Moves bytes between two pipes without copying them and without waiting; 0 at the end.
pub fn splice(from: BorrowedFd<'_>, to: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
    let flags = libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK;
    let none = ptr::null_mut();
    // SAFETY: plain numbers; no offsets are given.
    let moved = check(unsafe { libc::splice(from.as_raw_fd(), none, to.as_raw_fd(), none, most, flags) as i64 })?;
    Ok(moved as usize)
}

/// Shows a pipe the first bytes of another, in which they stay; see tee(2). 0 at the end.
pub fn tee(from: BorrowedFd<'_>, to: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
    // SAFETY: plain numbers.
    let shown = check(unsafe { libc::tee(from.as_raw_fd(), to.as_raw_fd(), most, libc::SPLICE_F_NONBLOCK) as i64 })?;
    Ok(shown as usize)
}

/// Gives a pipe about this size; see `F_SETPIPE_SZ` in fcntl(2).
pub fn set_pipe_bytes(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    // SAFETY: plain numbers.
    check_int(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETPIPE_SZ, bytes) })?;
    Ok(())
}

/// How many bytes wait in a pipe.
pub fn waiting(fd: BorrowedFd<'_>) -> io::Result<usize> {
    let mut count: libc::c_int = 0;
    // SAFETY: room for the number.
    check_int(unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONREAD, &raw mut count) })?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Moves the position of a file back by some bytes.
pub fn step_back(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    let offset = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: plain numbers.
    check(unsafe { libc::lseek(fd.as_raw_fd(), -offset, libc::SEEK_CUR) })?;
    Ok(())
}

/// Whether a call on this terminal does not stop us: our process group is in its foreground, or it
/// is not our controlling terminal. See "Job control" in termios(3).
pub fn is_foreground(terminal: BorrowedFd<'_>) -> bool {
    // SAFETY: plain numbers.
    let group = check_int(unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) });
    // SAFETY: no arguments.
    group.map_or_else(|errno| errno == Errno(libc::ENOTTY), |group| group == unsafe { libc::getpgrp() })
}
