//! Why there is no private copy of a repository's tree.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no private copy of a repository's tree.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// The tree is not the root of a repository.
    #[error(
        "`{}` is not the root of a git repository, which a workspace of mode `worktree` needs; work in its root, or use \
         `workspace: {{mode: cow}}`",
        root.display()
    )]
    NoRepository {
        /// The tree.
        root: PathBuf,
    },
    /// Something is half done in the repository.
    #[error("{what} is under way in `{}`, and a copy could not say where it stands; {remedy}", root.display())]
    UnderWay {
        /// The tree.
        root: PathBuf,
        /// What is.
        what: &'static str,
        /// The way out.
        remedy: &'static str,
    },
    /// The repository is one that cannot be copied, or should not.
    #[error("`{}` {why}; {remedy}, or use `workspace: {{mode: cow}}`", path.display())]
    Unfit {
        /// What stands in the way.
        path: PathBuf,
        /// Why.
        why: &'static str,
        /// The way out.
        remedy: &'static str,
    },
    /// There is no git to ask.
    #[error("a workspace of mode `worktree` needs git: {why}")]
    NoGit {
        /// Why there is none.
        why: String,
    },
    /// Git did not answer.
    #[error("git could not list the files of `{}`: {said}", root.display())]
    Git {
        /// The tree.
        root: PathBuf,
        /// What it said.
        said: String,
    },
    /// The kernel refused.
    #[error("cannot {what} `{}`", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
}

impl WorktreeError {
    pub(crate) fn io<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { what, path: path.to_owned(), source }
    }
}
