//! Where the store is, and that it is the caller's alone.

use polder_sys::directory::Directory;
use polder_sys::wait::effective_ids;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be made or opened.
    #[error("cannot keep caches at `{}`", path.display())]
    Open {
        /// Where it should be.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else could change what is in it.
    #[error("caches are not kept at `{}`, which {reason}; remove it, or set XDG_STATE_HOME", path.display())]
    Exposed {
        /// Where it is.
        path: PathBuf,
        /// Who.
        reason: &'static str,
    },
}

/// Where the caller's store is: with the caller's state, not among the files that people show to their commands as a
/// whole, as they do with `~/.cache`.
pub fn place(environment: &BTreeMap<OsString, OsString>, home: &Path) -> Option<PathBuf> {
    let state = environment.get(&OsString::from("XDG_STATE_HOME")).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| (home.is_absolute() && home != Path::new("/")).then(|| home.join(".local/state")))?;
    Some(state.join("polder/cache"))
}

/// The same path with the links resolved in the part of it that exists.
pub fn resolved(place: &Path) -> PathBuf {
    for existing in place.ancestors() {
        if let (Ok(found), Ok(rest)) = (polder_sys::facts::resolve(existing), place.strip_prefix(existing)) {
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    place.to_owned()
}

/// Whether a store that is not there is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Make,
    Fail,
}

/// Opens the store.
pub(crate) fn open(path: &Path, missing: Missing) -> Result<Directory, StoreError> {
    let fault = |source| StoreError::Open { path: path.to_owned(), source };
    if missing == Missing::Make {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(fault)?;
    }
    let store = Directory::at(path).map_err(fault)?;
    let metadata = store.file().metadata().map_err(fault)?;
    let exposed = |reason| StoreError::Exposed { path: path.to_owned(), reason };
    if metadata.uid() != effective_ids().0 {
        return Err(exposed("belongs to somebody else"));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(exposed("others can enter"));
    }
    Ok(store)
}
