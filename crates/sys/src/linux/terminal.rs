//! The caller's terminal, while a command inside has one of its own.

use super::call::check_int;
use crate::Terminal;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// Whether a descriptor is a terminal.
pub fn is_terminal(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: asks about a descriptor that is borrowed for the call.
    unsafe { libc::isatty(fd.as_raw_fd()) == 1 }
}

/// The size of a terminal.
pub fn size(fd: BorrowedFd<'_>) -> io::Result<Terminal> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the request writes one `winsize`.
    check_int(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCGWINSZ as _, &raw mut size) })?;
    Ok(Terminal { rows: size.ws_row, columns: size.ws_col })
}

/// Gives a terminal this size; the kernel tells its foreground programs.
pub fn resize(fd: BorrowedFd<'_>, size: Terminal) -> io::Result<()> {
    let size = libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the request reads one `winsize`.
    check_int(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCSWINSZ as _, &raw const size) })?;
    Ok(())
}

/// A terminal that hands every key through; as it was before when dropped.
#[derive(Debug)]
pub struct RawMode {
    fd: OwnedFd,
    before: libc::termios,
}

impl RawMode {
    /// Switches a terminal to handing every key through.
    pub fn enter(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let fd = fd.try_clone_to_owned()?;
        // SAFETY: all-zero is a valid `termios`, which the call fills.
        let mut before: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: `before` is valid for writing.
        check_int(unsafe { libc::tcgetattr(fd.as_raw_fd(), &raw mut before) })?;
        let mut raw = before;
        // SAFETY: `raw` is a complete `termios`.
        unsafe { libc::cfmakeraw(&raw mut raw) };
        // SAFETY: as above.
        check_int(unsafe { libc::tcsetattr(fd.as_raw_fd(), libc::TCSANOW, &raw const raw) })?;
        Ok(Self { fd, before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // SAFETY: puts back what `enter` read; a terminal that is gone has nothing to put back.
        unsafe { libc::tcsetattr(self.fd.as_raw_fd(), libc::TCSANOW, &raw const self.before) };
    }
}
