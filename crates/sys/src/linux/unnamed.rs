//! Files without a name; see `O_TMPFILE` in open(2).

use super::call::check_int;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Creates a file on the file system of a directory, for its owner alone. The kernel frees it with its last descriptor.
pub(crate) fn create(directory: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(directory);
    // A kernel or a file system that does not know the flag takes the directory for the file (open(2), BUGS).
    file.map_err(|error| match error.raw_os_error() {
        Some(libc::EISDIR | libc::EOPNOTSUPP) => io::Error::from(io::ErrorKind::Unsupported),
        _ => error,
    })
}

/// Gives the file a name that nothing has.
pub(crate) fn link(file: &File, name: &Path) -> io::Result<()> {
    let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let name = CString::new(name.as_os_str().as_bytes())?;
    let (here, flags) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    // SAFETY: both paths outlive the call.
    check_int(unsafe { libc::linkat(here, from.as_ptr(), here, name.as_ptr(), flags) })?;
    Ok(())
}
