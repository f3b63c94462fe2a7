//! Turning the kernel's answers into values. Used between clone and exec: nothing here allocates.

use std::fmt;
#[cfg(target_os = "linux")]
use std::os::fd::{FromRawFd, OwnedFd};

/// An error number of the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// The error of the call that just failed on this thread.
    pub fn last() -> Self {
        // Reads a number of this thread and allocates nothing.
        Self(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }

    /// The symbolic name, for the errors that sandboxes meet.
    pub fn name(self) -> &'static str {
        match self.0 {
            libc::EPERM => "EPERM",
            libc::ENOENT => "ENOENT",
            libc::EIO => "EIO",
            libc::E2BIG => "E2BIG",
            libc::ENOEXEC => "ENOEXEC",
            libc::EBADF => "EBADF",
            libc::EAGAIN => "EAGAIN",
            libc::ENOMEM => "ENOMEM",
            libc::EACCES => "EACCES",
            libc::EBUSY => "EBUSY",
            libc::EEXIST => "EEXIST",
            libc::EXDEV => "EXDEV",
            libc::ENOTDIR => "ENOTDIR",
            libc::EISDIR => "EISDIR",
            libc::EINVAL => "EINVAL",
            libc::EMFILE => "EMFILE",
            libc::ENFILE => "ENFILE",
            libc::ENOTTY => "ENOTTY",
            libc::ETXTBSY => "ETXTBSY",
            libc::ENOSPC => "ENOSPC",
            libc::EROFS => "EROFS",
            libc::ENAMETOOLONG => "ENAMETOOLONG",
            libc::ENOSYS => "ENOSYS",
            libc::ELOOP => "ELOOP",
            libc::EOPNOTSUPP => "EOPNOTSUPP",
            libc::EAFNOSUPPORT => "EAFNOSUPPORT",
            libc::EUSERS => "EUSERS",
            libc::ETOOMANYREFS => "ETOOMANYREFS",
            _ => "error",
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = std::io::Error::from_raw_os_error(self.0).to_string();
        let text = text.split(" (os error").next().unwrap_or("error");
        write!(f, "{} ({text})", self.name())
    }
}

impl std::error::Error for Errno {}

impl From<Errno> for std::io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.0)
    }
}

/// The result of a call that says -1 for "see errno".
#[cfg(target_os = "linux")]
pub(crate) fn check(answer: i64) -> Result<i64, Errno> {
    if answer == -1 { Err(Errno::last()) } else { Ok(answer) }
}

/// The same for calls that answer with an `int`.
pub(crate) fn check_int(answer: i32) -> Result<i32, Errno> {
    if answer == -1 { Err(Errno::last()) } else { Ok(answer) }
}

/// The descriptor that a call answered with, owned.
#[cfg(target_os = "linux")]
pub(crate) fn check_fd(answer: i64) -> Result<OwnedFd, Errno> {
    let number = check(answer)?;
    // SAFETY: the kernel just made this descriptor for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(number as i32) })
}
