//! In which git dirs changed paths lie.

use super::view::{TwoViews, When};
use crate::relative::Relative;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// A directory that is a git dir, or would be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitDirPlace {
    /// Below the root; empty for the root.
    pub(crate) path: PathBuf,
    /// The tree has a git dir there.
    pub(crate) before: bool,
    /// The tree has a directory there, whatever it is.
    pub(crate) had_directory: bool,
    /// There is one after an apply.
    pub(crate) after: bool,
}

impl GitDirPlace {
    /// A git dir that comes into being in a directory of the tree: files that were harmless there are
    /// obeyed by then.
    pub(crate) fn is_made_of_the_tree(&self) -> bool {
        !self.before && self.after && self.had_directory
    }

    /// Where its refs and objects are: a linked worktree shares those of its repository.
    pub(crate) fn common(&self) -> Self {
        let container = self.path.parent().filter(|parent| parent.file_name() == Some(OsStr::new("worktrees")));
        match container.and_then(Path::parent) {
            Some(common) => Self { path: common.to_owned(), ..self.clone() },
            None => self.clone(),
        }
    }

    /// A path in it.
    pub(crate) fn join(&self, below: impl AsRef<Path>) -> Relative {
        Relative::new(&self.path.join(below)).expect("invariant: a listed name is a relative path")
    }
}

/// The git dirs above changed paths.
#[derive(Debug)]
pub(crate) struct GitPlaces {
    directories: BTreeMap<PathBuf, Option<GitDirPlace>>,
}

impl GitPlaces {
    /// Looks at every directory above a changed path.
    pub(crate) fn find<'a>(views: &TwoViews<'_>, paths: impl Iterator<Item = &'a Relative>) -> io::Result<Self> {
        let mut directories = BTreeMap::new();
        for path in paths {
            // A pointer leads to a place of its own.
            for above in path.as_path().ancestors().skip(1) {
                if directories.contains_key(above) {
                    break;
                }
                directories.insert(above.to_owned(), look(views, above)?);
            }
        }
        Ok(Self { directories })
    }

    /// The git dirs that a path lies in, outermost first, each with the rest of the path.
    pub(crate) fn above<'a>(&'a self, path: &'a Relative) -> Vec<(&'a GitDirPlace, &'a Path)> {
        let above = path.as_path().ancestors().skip(1);
        let mut found: Vec<_> = above
            .filter_map(|above| {
                let place = self.directories.get(above)?.as_ref()?;
                Some((place, path.as_path().strip_prefix(above).ok()?))
            })
            .collect();
        found.reverse();
        found
    }

    /// All of them, in the order of their paths.
    pub(crate) fn all(&self) -> impl Iterator<Item = &GitDirPlace> {
        self.directories.values().flatten()
    }
}

/// Whether a directory is a git dir, before or after: `is_git_directory` in git's setup.c, and a little
/// more, because `commondir` can divide one into two.
pub(super) fn look(views: &TwoViews<'_>, path: &Path) -> io::Result<Option<GitDirPlace>> {
    let is = |when: When| -> io::Result<bool> {
        let has = |name: &str| match Relative::new(&path.join(name)) {
            Ok(path) => views.has(&path, when),
            Err(_) => Ok(false),
        };
        let (head, objects, refs) = (has("HEAD")?, has("objects")?, has("refs")?);
        Ok((objects && (refs || head)) || (head && has("commondir")?))
    };
    let (before, after) = (is(When::Before)?, is(When::After)?);
    let is_called_so = path.file_name() == Some(OsStr::new(".git"));
    if !before && !after && !is_called_so {
        return Ok(None);
    }
    let had_directory = match Relative::new(path) {
        Ok(path) => views.is_directory(&path, When::Before)?,
        Err(_) => true,
    };
    Ok(Some(GitDirPlace { path: path.to_owned(), before, had_directory, after }))
}
