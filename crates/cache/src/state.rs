//! The directory that a service keeps between its starts: one per name, made once, never removed.

use crate::claim::Owner;
use crate::store::{self, Missing, StoreError};
use polder_sys::directory::Directory;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

/// Why a service cannot have its directory.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// There is no place for it that can be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be made or entered.
    #[error("the service `{name}` cannot have its directory `{}`", path.display())]
    Make {
        /// The service.
        name: String,
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Root ran it for somebody else before.
    #[error(
        "the state of the service `{name}` belongs to the user {is}, and the command would be the user {needed}; \
         use another name, or give it away: chown -R {needed} `{}`",
        path.display()
    )]
    Owner {
        /// The service.
        name: String,
        /// The directory.
        path: PathBuf,
        /// Whose it is.
        is: u32,
        /// Who would use it.
        needed: u32,
    },
}

/// Where that is.
pub fn state_path(store: &Path, name: &str) -> PathBuf {
    store.with_file_name("services").join(name)
}

/// The directory of a service, beside the store of caches; made when it is not there. The name is safe as a file name.
pub fn state(store: &Path, name: &str, owner: Option<Owner>) -> Result<PathBuf, StateError> {
    let services = store.with_file_name("services");
    let path = services.join(name);
    let fault = |source| StateError::Make { name: name.to_owned(), path: path.clone(), source };
    let directory = store::open(&services, Missing::Make)?;
    let made = match directory.make(OsStr::new(name), 0o700) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(fault(error)),
    };
    // Not by its path: what stands there must be a directory and no link to one.
    let state: Directory = directory.enter(OsStr::new(name)).map_err(fault)?;
    if let Some(Owner { uid, gid }) = owner {
        if made {
            fchown(state.file(), Some(uid), Some(gid)).map_err(fault)?;
        }
        let is = state.file().metadata().map_err(fault)?.uid();
        if is != uid {
            return Err(StateError::Owner { name: name.to_owned(), path, is, needed: uid });
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests;
