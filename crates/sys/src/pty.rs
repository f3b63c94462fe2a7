//! Settings of a terminal of the sandbox's own. Used between clone and exec: nothing here allocates.

use crate::command::OutputMode;
use crate::errno::{Errno, check_int};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Makes a new terminal treat output as asked; a new one adds carriage returns (`OPOST`).
pub(crate) fn set_output_mode(terminal: BorrowedFd<'_>, mode: OutputMode) -> Result<(), Errno> {
    if mode == OutputMode::Processed {
        return Ok(());
    }
    // SAFETY: all-zero is a valid `termios`, which the first call fills and the second one reads.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        check_int(libc::tcgetattr(terminal.as_raw_fd(), &raw mut settings))?;
        settings.c_oflag &= !libc::OPOST;
        check_int(libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, &raw const settings))?;
    }
    Ok(())
}
