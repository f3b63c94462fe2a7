//! What the caller itself could do outside of a sandbox: the question that makes a failed call a violation.
//!
//! Only asks for rights, as the user that we are; opens, follows into and changes nothing. The answer goes to the user and
//! never into a sandbox.

use super::call::check_int;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// What somebody would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Read it.
    Read,
    /// Change it.
    Write,
    /// Execute it.
    Execute,
}

/// Whether we may do this with what is at a path; `false` also where nothing is.
pub fn may(path: &Path, deed: Deed) -> bool {
    let mode = match deed {
        Deed::Read => libc::R_OK,
        Deed::Write => libc::W_OK,
        Deed::Execute => libc::X_OK,
    };
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), mode, libc::AT_EACCESS) }).is_ok()
}

/// Whether names can be made and removed in a directory.
pub fn may_change_names(directory: &Path) -> bool {
    directory.is_dir() && may(directory, Deed::Write) && may(directory, Deed::Execute)
}

/// Whether a path is a socket.
pub fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}
