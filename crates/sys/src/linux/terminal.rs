//! The caller's terminal, while a command inside has one of its own.

use super::call::check_int;
use super::launched::{Child, clone_into};
use super::shim::block_all_signals;
use super::wait::pipe;
use crate::TerminalSize;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Whether a descriptor is a terminal.
pub fn is_terminal(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: asks about a descriptor that is borrowed for the call.
    unsafe { libc::isatty(fd.as_raw_fd()) == 1 }
}

/// The size of a terminal.
pub fn size(fd: BorrowedFd<'_>) -> io::Result<TerminalSize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the request writes one `winsize`.
    check_int(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCGWINSZ as _, &raw mut size) })?;
    Ok(TerminalSize { rows: size.ws_row, columns: size.ws_col })
}

/// Gives a terminal this size; the kernel tells its foreground programs.
pub fn resize(fd: BorrowedFd<'_>, size: TerminalSize) -> io::Result<()> {
    let size = libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the request reads one `winsize`.
    check_int(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCSWINSZ as _, &raw const size) })?;
    Ok(())
}

/// A terminal that hands every key through; as it was before when dropped, and also when this
/// process is killed.
#[derive(Debug)]
pub struct RawMode {
    fd: OwnedFd,
    before: libc::termios,
    restorer: Restorer,
}

/// A process that puts a terminal's settings back when this one is gone without having done so.
#[derive(Debug)]
struct Restorer {
    /// It reads the other end. A byte means that there is nothing left to do, the end of the pipe
    /// that this process was killed.
    word: OwnedFd,
    process: Child,
}

impl RawMode {
    /// Switches a terminal to handing every key through.
    pub fn enter(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let fd = fd.try_clone_to_owned()?;
        // SAFETY: all-zero is a valid `termios`, which the call fills.
        let mut before: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: `before` is valid for writing.
        check_int(unsafe { libc::tcgetattr(fd.as_raw_fd(), &raw mut before) })?;
        // First, so that there is no moment in which the settings are changed and nothing restores them.
        let restorer = Restorer::start(fd.as_fd(), &before)?;
        let mut raw = before;
        // SAFETY: `raw` is a complete `termios`.
        unsafe { libc::cfmakeraw(&raw mut raw) };
        // SAFETY: as above.
        check_int(unsafe { libc::tcsetattr(fd.as_raw_fd(), libc::TCSANOW, &raw const raw) })?;
        Ok(Self { fd, before, restorer })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        set(self.fd.as_fd(), &self.before);
        self.restorer.dismiss();
    }
}

/// Sets a terminal up; one that is gone has nothing to set.
fn set(terminal: BorrowedFd<'_>, settings: &libc::termios) {
    // SAFETY: the settings are complete and outlive the call.
    unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, settings) };
}

impl Restorer {
    fn start(terminal: BorrowedFd<'_>, before: &libc::termios) -> io::Result<Self> {
        let (heard, word) = pipe()?;
        let process = clone_into(0, None, || {
            block_all_signals();
            // A session of its own: a signal to the caller's process group does not end it, and the
            // kernel lets a process of another session set up the terminal from the background
            // (`__tty_check_change` looks only at a process's own controlling terminal).
            // SAFETY: no arguments.
            unsafe { libc::setsid() };
            // The caller's pipes must end when the caller does.
            let kept = [heard.as_raw_fd(), terminal.as_raw_fd(), heard.as_raw_fd()];
            if super::shim::close_all_but(kept).is_err() {
                return;
            }
            for stream in 0..3 {
                if !kept.contains(&stream) {
                    // SAFETY: a number that nothing of this process uses.
                    unsafe { libc::close(stream) };
                }
            }
            let mut byte = 0u8;
            // SAFETY: room for one byte. Every signal that can be is blocked.
            if unsafe { libc::read(heard.as_raw_fd(), (&raw mut byte).cast(), 1) } == 0 {
                set(terminal, before);
            }
        })?;
        Ok(Self { word, process })
    }

    fn dismiss(&mut self) {
        let byte = [1u8];
        // SAFETY: one byte. A process that is gone needs no word.
        unsafe { libc::write(self.word.as_raw_fd(), byte.as_ptr().cast(), 1) };
        self.process.reap();
    }
}
