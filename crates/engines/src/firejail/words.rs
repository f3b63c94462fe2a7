//! Paths as arguments of the program. It has no escapes: what it would take for a pattern, a list or a macro, and what
//! it refuses by itself, cannot be said.

use std::ffi::{CString, OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Characters that the program refuses in names, or that mean something to it.
const REFUSED: &[u8] = b"\\&!?\"'<>%^{};,*[]~$`|";

/// A path that cannot be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unspeakable(OsString);

impl fmt::Display for Unspeakable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "firejail has no way to name the path {:?}", self.0)
    }
}

/// An option with a path, as one argument.
pub(super) fn option(name: &str, path: &OsStr) -> Result<CString, Unspeakable> {
    let bytes = path.as_bytes();
    let refused = |byte: &u8| byte.is_ascii_control() || REFUSED.contains(byte);
    // Spaces at the end of a line are cut off; a path is a place only if it is whole.
    let cut = bytes.first() != Some(&b'/') || bytes.last().is_some_and(u8::is_ascii_whitespace);
    if cut || bytes.iter().any(refused) || Path::new(path).components().any(|part| part.as_os_str() == "..") {
        return Err(Unspeakable(path.to_owned()));
    }
    let mut text = format!("--{name}=").into_bytes();
    text.extend_from_slice(bytes);
    CString::new(text).map_err(|_| Unspeakable(path.to_owned()))
}

#[cfg(test)]
mod tests;
