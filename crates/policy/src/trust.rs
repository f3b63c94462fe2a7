//! Trust: a project's file is text from a repository, and counts only as far as it narrows.
//!
//! A policy is made twice: with every layer, and with the user's own alone (built-in, system, user,
//! `--config`, variables, flags). Whatever the first one has beyond the second is what the project asks
//! for ([`beyond`]). So it does not matter where a file hides it, and the user's flag for the very value
//! asks for nothing.

mod beyond;

use crate::document::Source;
use crate::fault::printable;
pub(crate) use beyond::{Judged, beyond};
use polder_facts::Origin;
use sha2::{Digest, Sha256};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One thing that a project's file asks for and only the user can give.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ask {
    /// The line that asks.
    pub origin: Origin,
    /// The thing it asks for.
    pub what: String,
    /// The flag by which the user gives only this, where there is one.
    pub flag: Option<String>,
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&format!("{}: {}", self.origin, self.what)))
    }
}

/// Which projects the user trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those with these fingerprints.
    Only(Vec<String>),
    /// All of them, for this call.
    Everything,
}

impl Trust {
    /// Whether this content, in its repository, may have what it asks for.
    pub fn covers(&self, fingerprint: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Only(known) => known.iter().any(|known| known == fingerprint),
        }
    }
}

/// SHA-256, in hexadecimal, over a file and every file that it extends.
pub fn fingerprint(source: &Source) -> String {
    let mut hash = Sha256::new();
    feed(&mut hash, source);
    hexadecimal(&hash)
}

fn feed(hash: &mut Sha256, source: &Source) {
    // Lengths and counts first, so that no two trees of files are the same stream of bytes.
    text(hash, &source.bytes);
    hash.update((source.extends.len() as u64).to_be_bytes());
    source.extends.iter().for_each(|base| feed(hash, base));
}

fn text(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}

fn hexadecimal(hash: &Sha256) -> String {
    hash.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where a repository is, and which one it is.
///
/// The path alone would carry trust over to another clone at the same place, the inode alone to a tree
/// that was moved. `st_dev` is left out: it is not stable across mounts on btrfs, overlay, NFS and
/// device mapper, and the path names the mount. The time of birth (statx(2), `STATX_BTIME`) tells a
/// directory from a later one with the same inode number. The git dir is not asked: a `.git` file can
/// name the git dir of any other repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepositoryIdentity {
    /// The canonical path of its root.
    pub(crate) path: PathBuf,
    /// The configuration file, from there: paths in it mean something else elsewhere.
    pub(crate) file: PathBuf,
    /// The inode of its root.
    pub(crate) inode: u64,
    /// When that came into being, in nanoseconds since 1970; absent where the file system does not say.
    pub(crate) born_ns: Option<u128>,
}

/// A file that the configuration names and polder reads; without bytes where there is none.
pub(crate) type NamedFile = (PathBuf, Option<Vec<u8>>);

/// The hash by which trust is remembered: over the content, the files that it names, and the repository.
pub(crate) fn sealed(content: &str, named: &[NamedFile], place: &RepositoryIdentity) -> String {
    let mut hash = Sha256::new();
    text(&mut hash, content.as_bytes());
    hash.update((named.len() as u64).to_be_bytes());
    for (path, bytes) in named {
        text(&mut hash, bytes_of(path));
        hash.update([u8::from(bytes.is_some())]);
        text(&mut hash, bytes.as_deref().unwrap_or_default());
    }
    let RepositoryIdentity { path, file, inode, born_ns } = place;
    text(&mut hash, bytes_of(path));
    text(&mut hash, bytes_of(file));
    hash.update(inode.to_be_bytes());
    hash.update([u8::from(born_ns.is_some())]);
    hash.update(born_ns.unwrap_or_default().to_be_bytes());
    hexadecimal(&hash)
}

fn bytes_of(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

#[cfg(test)]
mod tests;
