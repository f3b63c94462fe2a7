//! Looking for `bwrap`: on PATH, and only where nobody but its owner and root can have put it.
//!
//! A command of an earlier run may have written to the workspace, and other users to shared directories. What lies there
//! is skipped, and said to be.

use polder_facts::HostFacts;
use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The program's name.
const NAME: &str = "bwrap";
/// Where to look when the caller has no PATH.
const PLACES: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program that may be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Where it is, without symbolic links.
    pub(super) path: PathBuf,
    /// What came before it on PATH.
    pub(super) skipped: Vec<Skipped>,
}

/// A program that may not be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Skipped {
    /// Where it is, as PATH says.
    pub(super) path: PathBuf,
    /// Why.
    pub(super) reason: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not used: {}", self.path.display(), self.reason)
    }
}

/// None may be used; the reasons, if there are any.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing(pub(super) Vec<Skipped>);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() {
            "there is no `bwrap` on PATH"
        } else {
            "there is no usable `bwrap` on PATH"
        })?;
        self.0.iter().try_for_each(|skipped| write!(f, "; {skipped}"))
    }
}

/// The first program on PATH that may be used. `writable` are trees that a command could write, beside the workspace.
pub(super) fn find(host: &HostFacts, writable: &[&Path]) -> Result<Found, Missing> {
    let mut skipped = Vec::new();
    let path = host.environment.get(std::ffi::OsStr::new("PATH")).cloned().unwrap_or_else(|| PLACES.into());
    for dir in std::env::split_paths(&path) {
        let candidate = dir.join(NAME);
        if fs::symlink_metadata(&candidate).is_err() {
            continue;
        }
        let trees = writable.iter().copied().chain([host.tree.root.as_path()]);
        match check(&candidate, trees, host.user.uid) {
            Ok(path) => return Ok(Found { path, skipped }),
            Err(reason) => skipped.push(Skipped { path: candidate, reason }),
        }
    }
    Err(Missing(skipped))
}

/// Follows a candidate to the file that would be executed, or says why that is not done.
fn check<'a>(candidate: &Path, mut trees: impl Iterator<Item = &'a Path>, uid: u32) -> Result<PathBuf, String> {
    if !candidate.is_absolute() {
        return Err("its entry on PATH is relative".to_owned());
    }
    let path = fs::canonicalize(candidate).map_err(|error| error.to_string())?;
    // A link that lies in such a tree is as bad as a file that does.
    let holder = candidate.parent().and_then(|dir| fs::canonicalize(dir).ok()).unwrap_or_default();
    if let Some(tree) = trees.find(|tree| path.starts_with(tree) || holder.starts_with(tree)) {
        return Err(format!("a sandboxed command could have written it: it lies in `{}`", tree.display()));
    }
    let file = fs::metadata(&path).map_err(|error| error.to_string())?;
    if !file.is_file() || file.permissions().mode() & 0o111 == 0 {
        return Err("it is not an executable file".to_owned());
    }
    let privileged = "and a program with privileges of its own is a way to gain them, not to give them up; \
                      take the bit away, or use engine `native`";
    if file.mode() & 0o6000 != 0 {
        return Err(format!("it is setuid or setgid, {privileged}"));
    }
    if polder_sys::facts::has_file_capabilities(&path) {
        return Err(format!("it has file capabilities, {privileged}"));
    }
    if !is_owned(&file, uid) || file.mode() & 0o022 != 0 {
        return Err("others can write it".to_owned());
    }
    for dir in holder.ancestors().chain(path.ancestors().skip(1)) {
        let metadata = fs::metadata(dir).map_err(|error| format!("`{}`: {error}", dir.display()))?;
        // In a sticky directory nobody can replace what is another's.
        let shared = metadata.mode() & 0o022 != 0 && metadata.mode() & 0o1000 == 0;
        if !is_owned(&metadata, uid) || shared {
            return Err(format!("others can write its directory `{}`", dir.display()));
        }
    }
    Ok(path)
}

/// Whether something belongs to the caller or to root.
fn is_owned(metadata: &Metadata, uid: u32) -> bool {
    metadata.uid() == 0 || metadata.uid() == uid
}

#[cfg(test)]
mod tests;
