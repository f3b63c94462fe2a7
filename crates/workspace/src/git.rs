//! Git's own state in a review: one change per repository, judged by the tables of `polder_facts::git`,
//! shown as commits, and applied or held as a whole.
//!
//! A git dir is told by its place: a directory of the tree or of what would become of it that has the
//! names of one (gitrepository-layout(5)), reachable from the workspace's repository or not. So what a
//! later index, remote or pointer leads to is judged before anything leads there.

mod base;
mod change;
mod history;
mod judge;
mod places;
mod refs;
mod view;

pub(crate) use base::{GitBase, copy as copy_base, index_mark, note_left, note_run};
pub use change::{CommitLine, ContainedPath, GitChange, GitMember, RefChange};
pub(crate) use change::{GitContext, GitJudged, is_shown_only, judge_all};
pub(crate) use places::GitPlaces;
pub(crate) use view::{TwoViews, When};
