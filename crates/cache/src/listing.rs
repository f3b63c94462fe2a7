//! What is in the store, and removing it when the user says so.

use crate::family::{Family, NAMES_MAX, used};
use crate::manifest::{self, NAME};
use crate::store::{self, Missing, StoreError};
use polder_sys::directory::Directory;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// Directories in each other that are looked into for their size.
const DEPTH_MAX: u32 = 256;

/// One scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Whose it is.
    pub repository: String,
    /// The sandbox it belongs to, when it has a name.
    pub sandbox: Option<String>,
    /// Its prefix.
    pub prefix: String,
    /// Where its directories appear inside.
    pub paths: BTreeSet<String>,
    /// When it was used last.
    pub used: SystemTime,
    /// What it takes on the disk.
    pub bytes: u64,
    /// Whether a run uses it now.
    pub in_use: bool,
}

/// What came of clearing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cleared {
    /// Scopes that are gone.
    pub removed: u64,
    /// Scopes that stay, because a run uses them.
    pub in_use: u64,
}

/// Everything in the store, or what belongs to one repository.
pub fn list(place: &Path, of: Option<&str>) -> Result<Vec<Listed>, StoreError> {
    let mut listed = Vec::new();
    let store = each_family(place, of, |_, family, whose| {
        for name in family.scopes()? {
            let scope = family.directory.enter(OsStr::new(&name))?;
            let which: Option<manifest::Scope> = manifest::read(&scope, OsStr::new(NAME));
            listed.push(Listed {
                repository: whose.repository.clone(),
                sandbox: whose.sandbox.clone(),
                prefix: which.map_or_else(|| "?".to_owned(), |which| which.prefix),
                paths: paths(&scope)?,
                used: used(&scope)?,
                bytes: size(&scope, 0),
                in_use: family.in_use(&name)?,
            });
        }
        Ok(())
    });
    store?;
    listed.sort_by(|a, b| (&a.repository, &a.sandbox, &a.prefix).cmp(&(&b.repository, &b.sandbox, &b.prefix)));
    Ok(listed)
}

/// Removes everything in the store, or what belongs to one repository; what a run uses stays.
pub fn clear(place: &Path, of: Option<&str>) -> Result<Cleared, StoreError> {
    let mut cleared = Cleared { removed: 0, in_use: 0 };
    each_family(place, of, |(store, name), family, _| {
        family.tidy()?;
        let mut all = true;
        for scope in family.scopes()? {
            let removed = family.remove(&scope)?;
            all &= removed;
            *if removed { &mut cleared.removed } else { &mut cleared.in_use } += 1;
        }
        if all { family.end(store, name) } else { Ok(()) }
    })?;
    Ok(cleared)
}

/// Does something with each family, locked.
fn each_family(
    place: &Path,
    of: Option<&str>,
    mut with: impl FnMut((&Directory, &OsString), Family, &manifest::Family) -> io::Result<()>,
) -> Result<(), StoreError> {
    let store = match store::open(place, Missing::Fail) {
        // Nothing was ever kept.
        Err(StoreError::Open { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let fault = |source| StoreError::Open { path: place.to_owned(), source };
    let mut names = store.names(NAMES_MAX).map_err(fault)?;
    names.sort();
    let wait = &mut |pause| {
        std::thread::sleep(pause);
        ControlFlow::Continue(())
    };
    for name in names {
        let family = match Family::lock(&store, &name, false, wait) {
            // Somebody else has just cleared it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(fault)?,
        };
        let unknown = || manifest::Family { repository: "?".to_owned(), sandbox: None };
        let whose = manifest::read(&family.directory, OsStr::new(NAME)).unwrap_or_else(unknown);
        if of.is_none_or(|of| of == whose.repository) {
            with((&store, &name), family, &whose).map_err(fault)?;
        }
    }
    Ok(())
}

fn paths(scope: &Directory) -> io::Result<BTreeSet<String>> {
    let names = scope.names(NAMES_MAX)?.into_iter();
    let manifests = names.filter(|name| name != NAME && name.to_string_lossy().ends_with(".json"));
    Ok(manifests.filter_map(|name| Some(manifest::read::<manifest::Kept>(scope, &name)?.path)).collect())
}

/// What a tree takes on the disk, as far as it can be read.
fn size(directory: &Directory, depth: u32) -> u64 {
    let mut bytes = 0;
    for name in directory.names(usize::MAX).unwrap_or_default() {
        let Ok(found) = directory.look(&name).and_then(|found| found.metadata()) else { continue };
        bytes += found.blocks() * 512;
        if found.is_dir()
            && depth < DEPTH_MAX
            && let Ok(inner) = directory.enter(&name)
        {
            bytes += size(&inner, depth + 1);
        }
    }
    bytes
}
