//! Git repositories as a later `git` command of the host sees them: which parts are data, and which
//! parts git obeys or executes. Pure; the tables are the one source for every workspace mode.

mod config;
mod gitlinks;
mod identity;
mod keys;
mod layout;
mod named;
mod state;

pub use config::{ConfigFault, ConfigKey, ConfigMerge, ConfigText, merge_configs};
pub use gitlinks::{GITLINK_MODE, IndexEntry, gitlinks, index_entries};
pub use identity::GitIdentity;
pub use keys::{is_harmless_address, is_local_address, judge_key, lists_key};
pub use layout::{GitPart, LAYOUT, LayoutRow, git_part, holds_parts, is_listed_part, is_sample, is_worktree_pointer};
pub use named::{Named, named};
pub use state::{StateRule, is_harmless_state};

use std::path::PathBuf;

/// Every git dir that a command in the workspace could write, and the places that those lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitFacts {
    /// The git dirs, each once, in the order in which they were found.
    pub dirs: Vec<GitDirFacts>,
    /// `.git` files and symlinks, which lead to a git dir.
    pub pointers: Vec<PathBuf>,
    /// Files and directories outside of git dirs that git executes or follows, named by a
    /// configuration or reached by a symlink among the hooks, with the symlinks on the way.
    pub reached: Vec<PathBuf>,
    /// The same where nothing exists.
    pub missing: Vec<PathBuf>,
}

/// One git dir when the run begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitDirFacts {
    /// The host's path, without symlinks.
    pub path: PathBuf,
    /// Paths in it that exist and that are not git's data, relative.
    pub obeyed: Vec<PathBuf>,
    /// The configuration files that exist, relative, with their text.
    pub configs: Vec<(PathBuf, String)>,
    /// Files of an operation that the user began before the run.
    pub state: Vec<StateFacts>,
}

/// A file of an operation in progress, by what the kernel changes with every write to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFacts {
    /// Relative to the git dir.
    pub below: PathBuf,
    /// Its inode.
    pub inode: u64,
    /// Its ctime, in seconds and nanoseconds.
    pub changed: (i64, i64),
}

impl GitDirFacts {
    /// The host's paths of its configurations, with their text.
    pub fn config_paths(&self) -> impl Iterator<Item = (PathBuf, String)> {
        self.configs.iter().map(|(below, text)| (self.path.join(below), text.clone()))
    }

    /// The host's paths of everything in it that git obeys.
    pub fn into_held(self) -> impl Iterator<Item = PathBuf> {
        let Self { path, obeyed, configs, state: _ } = self;
        let below = obeyed.into_iter().chain(configs.into_iter().map(|(below, _)| below));
        below.map(move |below| path.join(below))
    }
}
