//! What stands beside the hashed names, for people and for `polder cache list`. Nothing is decided by it.

use polder_sys::directory::Directory;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io::{self, Read, Write};

pub(crate) const NAME: &str = "manifest.json";
/// Longer than any path twice over.
const BYTES_MAX: u64 = 16 * 1024;

/// Whose a family is.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Family {
    pub(crate) repository: String,
    pub(crate) sandbox: Option<String>,
}

/// Which scope it is.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Scope {
    pub(crate) prefix: String,
}

/// Where a directory appears inside.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) path: String,
}

/// Writes what is not there yet. Whoever is interrupted in the middle leaves half a line, which is worth a name less in a
/// list and nothing else.
pub(crate) fn write(directory: &Directory, name: &OsStr, manifest: &impl Serialize) -> io::Result<()> {
    match directory.create(name, 0o600) {
        Ok(mut file) => file.write_all(serde_json::to_string(manifest)?.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

pub(crate) fn read<T: DeserializeOwned>(directory: &Directory, name: &OsStr) -> Option<T> {
    let mut text = String::new();
    directory.read(name).ok()?.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}
