//! What is kept between runs: listing it and clearing it.

use crate::config::{self, Files};
use crate::error::Error;
use polder_policy::Overrides;
use polder_run::caches as store;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use polder_run::caches::{Cleared, Listed};

/// Whose caches are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of the repository that runs in this directory work on.
    RepositoryOf(PathBuf),
    /// Everybody's.
    All,
}

/// The caches that there are, in order.
pub fn list(whose: &Whose, environment: &BTreeMap<OsString, OsString>) -> Result<Vec<Listed>, Error> {
    let of = repository(whose, environment)?;
    place(environment).map_or(Ok(Vec::new()), |place| Ok(store::list(&place, of.as_deref())?))
}

/// Removes caches; what a run uses stays.
pub fn clear(whose: &Whose, environment: &BTreeMap<OsString, OsString>) -> Result<Cleared, Error> {
    let of = repository(whose, environment)?;
    place(environment).map_or(Ok(Cleared { removed: 0, in_use: 0 }), |place| Ok(store::clear(&place, of.as_deref())?))
}

fn place(environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let place = store::place(environment, &config::home(environment))?;
    Some(store::resolved(&place))
}

fn repository(whose: &Whose, environment: &BTreeMap<OsString, OsString>) -> Result<Option<String>, Error> {
    let Whose::RepositoryOf(directory) = whose else { return Ok(None) };
    let said = config::read(directory, &Files::Found, environment, Overrides::none())?;
    let root: &Path = said.scope.workspace_root.as_path();
    let tree = polder_sys::facts::tree(root, root, &[], &[]);
    let tree = tree.map_err(|source| Error::Directory { path: root.to_owned(), source })?;
    Ok(Some(polder_plan::cache_repository(&tree).display().to_string()))
}
