//! The name of an image that is built: whose it is, and what went into it.

use super::super::api::ImageName;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A name that no registry has, so that nobody can publish an image under it; one part for the repository, so that
/// repositories do not share images by accident or on purpose; and a tag for the content.
pub(super) fn tag(root: &Path, content: &[u8; 32]) -> ImageName {
    let name = format!("localhost/polder/{}:{}", repository(root), hex(&content[..16]));
    name.parse().expect("invariant: made of `a-z`, `0-9` and `/` alone")
}

/// The part of the name that is the repository's.
pub(super) fn repository(root: &Path) -> String {
    hex(&Sha256::digest(root.as_os_str().as_bytes())[..8])
}

/// Bytes as digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
