//! A workspace of mode `worktree`: a private copy of what git knows of a tree, with a repository of its own.
//!
//! The copy has the files as the user has them now, committed or not, and beside them a `.git` that polder writes: the
//! user's HEAD, refs and index as they are, a configuration of polder's, and the objects borrowed from the user's store.
//! Nothing in the user's repository changes, and nothing in it is obeyed: its configuration, hooks and attributes are not
//! read by anybody, because git sees the private repository alone. Files are copied by descriptor, so that no link leads
//! out of the tree, and no filter that a repository names has to run.

mod capture;
mod error;
mod files;
mod git;
mod listing;
mod private;
mod record;
mod refs;
mod repository;

pub use capture::{Capture, Captured, PrivatePaths, Project};
pub use error::WorktreeError;
pub use git::Git;

pub(crate) use capture::{capture_into, survey_into};
pub(crate) use record::{Record, read as read_record, write as write_record};
pub(crate) use refs::{is_name as is_ref_name, is_object};

/// The private copy, in the directory of its workspace.
pub(crate) const BASE: &str = "base";
