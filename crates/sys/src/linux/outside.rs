//! What the caller itself could do outside of a sandbox: the question that makes a failed call a violation.
//!
//! Only asks for rights, as the user that we are; changes nothing, and opens nothing but a script that would not start. The
//! answer goes to the user and never into a sandbox.

use super::call::check_int;
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

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

/// The longest first line of a script that the kernel reads.
const FIRST_LINE_BYTES: u64 = 256;

/// The program that a script names in its first line; `None` for what is no script. A command may have put something else in
/// its place, so it is opened without waiting for anybody.
pub fn interpreter(script: &Path) -> Option<PathBuf> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(script).ok()?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return None;
    }
    let mut start = Vec::new();
    file.take(FIRST_LINE_BYTES).read_to_end(&mut start).ok()?;
    named_by(&start)
}

fn named_by(start: &[u8]) -> Option<PathBuf> {
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r')).filter(|word| !word.is_empty());
    let path = Path::new(OsStr::from_bytes(words.next()?));
    path.is_absolute().then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{interpreter, named_by};
    use std::path::{Path, PathBuf};

    #[test]
    fn the_first_line_of_a_script_names_its_program() {
        for text in ["#!/opt/x/sh -e\nrest", "#! /opt/x/sh", "#!\t/opt/x/sh\r\n"] {
            assert_eq!(named_by(text.as_bytes()), Some(PathBuf::from("/opt/x/sh")), "{text:?}");
        }
        for text in ["", "#!", "#!\n/opt/x", "#!sh", "echo", "\x7fELF"] {
            assert_eq!(named_by(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(interpreter(Path::new("/dev/null")).or(interpreter(Path::new("/"))), None, "no scripts");
    }
}
