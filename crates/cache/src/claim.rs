//! Having for a run what its plan shows of the store, from before it starts until it has ended.

use crate::copy::{Owners, copy};
use crate::evict::{Keeping, evict, expired};
use crate::family::{ASIDE, Family, Patience, exists, stamp, used};
use crate::manifest::{self, NAME};
use crate::store::{self, Missing, StoreError};
use polder_plan::{Caches, Kept, Sharing};
use polder_sys::directory::Directory;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::fchown;
use std::time::{Duration, SystemTime};

/// What a run holds. While it lives, nobody removes what it uses.
#[derive(Debug)]
#[must_use = "what nobody holds may be removed"]
pub struct Claim {
    _held: Vec<File>,
}

/// Why a run cannot have its caches.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// There is no store that can be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something in it could not be made.
    #[error("cannot have the cache `{prefix}` of `{repository}`; `polder cache clear` removes it")]
    Family {
        /// The prefix.
        prefix: String,
        /// The repository.
        repository: String,
        /// Why.
        source: io::Error,
    },
    /// A new cache could not start from another one.
    #[error("cannot start a cache from `{prefix}`; without `fallback_prefix` it starts empty")]
    Copy {
        /// The prefix that is copied.
        prefix: String,
        /// Why.
        source: io::Error,
    },
    /// It was there when the plan was made.
    #[error("the cache for `{0}` was removed a moment ago; run again")]
    Gone(String),
    /// Who asked has lost patience.
    #[error("interrupted while the caches were made ready")]
    Interrupted,
}

/// Who the files of a new cache belong to, where the caller can give files away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// Makes ready what the plan shows. `patience` is asked while others hold a lock and between the files of a copy.
pub fn claim(
    caches: &Caches,
    owner: Option<Owner>,
    patience: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<Claim, ClaimError> {
    match caches.sharing {
        Sharing::ReadWrite => make(caches, owner, patience),
        Sharing::RestoreOnly => restore(caches, patience),
    }
}

fn fault(caches: &Caches) -> impl Fn(io::Error) -> ClaimError {
    |source| match source.kind() {
        io::ErrorKind::Interrupted => ClaimError::Interrupted,
        _ => {
            let (prefix, repository) = (caches.scope.prefix.clone(), caches.repository.clone());
            ClaimError::Family { prefix, repository, source }
        }
    }
}

/// For a run that may not change anything: what is there is held and shown.
fn restore(caches: &Caches, patience: Patience<'_>) -> Result<Claim, ClaimError> {
    let fault = fault(caches);
    let mut held = Vec::new();
    let sources: Vec<_> = caches.kept.iter().filter_map(|kept| Some((kept, kept.source.as_deref()?))).collect();
    if sources.is_empty() {
        return Ok(Claim { _held: held });
    }
    let store = store::open(caches.store.as_path(), Missing::Fail)?;
    let family = Family::lock(&store, OsStr::new(&caches.family), false, patience).map_err(&fault)?;
    for (kept, source) in sources {
        let gone = |_| ClaimError::Gone(kept.guest.to_string());
        let scope = family.directory.enter(OsStr::new(source)).map_err(gone)?;
        scope.enter(OsStr::new(&kept.name)).map_err(gone)?;
        held.push(family.hold(source).map_err(&fault)?);
        stamp(&scope).map_err(&fault)?;
    }
    Ok(Claim { _held: held })
}

/// For a run that keeps things: what is missing is made, what is not wanted any more is removed.
fn make(caches: &Caches, owner: Option<Owner>, patience: Patience<'_>) -> Result<Claim, ClaimError> {
    let fault = fault(caches);
    let Caches { repository, sandbox, scope, ttl, max_scopes, .. } = caches;
    let store = store::open(caches.store.as_path(), Missing::Make)?;
    let family = Family::lock(&store, OsStr::new(&caches.family), true, patience).map_err(&fault)?;
    family.tidy().map_err(&fault)?;
    let whose = manifest::Family { repository: repository.clone(), sandbox: sandbox.clone() };
    manifest::write(&family.directory, OsStr::new(NAME), &whose).map_err(&fault)?;
    forget_if_expired(caches, &family).map_err(&fault)?;
    let name = OsStr::new(&scope.name);
    exists(family.directory.make(name, 0o700)).map_err(&fault)?;
    let directory = family.directory.enter(name).map_err(&fault)?;
    let which = manifest::Scope { prefix: scope.prefix.clone() };
    manifest::write(&directory, OsStr::new(NAME), &which).map_err(&fault)?;
    for kept in &caches.kept {
        if directory.enter(OsStr::new(&kept.name)).is_err() {
            begin(caches, &family, &directory, kept, owner, patience)?;
        }
    }
    let held = vec![family.hold(&scope.name).map_err(&fault)?];
    stamp(&directory).map_err(&fault)?;
    let max_scopes = usize::try_from(*max_scopes).unwrap_or(usize::MAX);
    // Room that could not be made is no reason not to run, and is told.
    if let Err(error) = evict(&family, &scope.name, Keeping { ttl: ttl.0, max_scopes }) {
        tracing::warn!(target: "polder::cache", repository, %error, "cannot remove caches that are not wanted");
    }
    Ok(Claim { _held: held })
}

/// A scope that nobody used for its time starts anew.
fn forget_if_expired(caches: &Caches, family: &Family) -> io::Result<()> {
    let Ok(directory) = family.directory.enter(OsStr::new(&caches.scope.name)) else { return Ok(()) };
    if expired(used(&directory)?, SystemTime::now(), caches.ttl.0) {
        family.remove(&caches.scope.name)?;
    }
    Ok(())
}

/// Makes one directory: aside first, empty or as a copy, and under its name when it is whole.
fn begin(
    caches: &Caches,
    family: &Family,
    scope: &Directory,
    kept: &Kept,
    owner: Option<Owner>,
    patience: Patience<'_>,
) -> Result<(), ClaimError> {
    let fault = fault(caches);
    let aside = format!("{ASIDE}{}", kept.name);
    let aside = OsStr::new(&aside);
    family.directory.make(aside, 0o700).map_err(&fault)?;
    let target = family.directory.enter(aside).map_err(&fault)?;
    // Who else can look is decided by the store around it; inside it is a directory like any other.
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    target.file().set_permissions(rights).map_err(&fault)?;
    if let Some(Owner { uid, gid }) = owner {
        fchown(target.file(), Some(uid), Some(gid)).map_err(&fault)?;
    }
    if let Some(from) = &caches.fallback {
        let source = family.directory.enter(OsStr::new(&from.name)).and_then(|from| from.enter(OsStr::new(&kept.name)));
        match source {
            Ok(source) => {
                let owners = if owner.is_some() { Owners::Kept } else { Owners::Ours };
                let copied = copy(&source, &target, owners, patience).and_then(|()| target.sync_all());
                copied.map_err(|source| match source.kind() {
                    io::ErrorKind::Interrupted => ClaimError::Interrupted,
                    _ => ClaimError::Copy { prefix: from.prefix.clone(), source },
                })?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(ClaimError::Copy { prefix: from.prefix.clone(), source }),
        }
    }
    let path = manifest::Kept { path: kept.guest.to_string() };
    manifest::write(scope, OsStr::new(&format!("{}.json", kept.name)), &path).map_err(&fault)?;
    family.directory.rename(aside, scope, OsStr::new(&kept.name)).map_err(&fault)?;
    scope.file().sync_all().map_err(&fault)
}

#[cfg(test)]
mod tests;
