//! Copy-on-write workspaces: a command changes a layer of its own, and the tree changes when somebody says so.
//!
//! `begin` makes the layer, in a time that does not depend on the size of the tree, and whoever launches the command
//! mounts it over the tree. `review` compares layer and tree and says what stands against each change. `apply` puts what
//! was chosen into the tree, as a transaction; `revert` takes that back. `discard` forgets the layer.
//!
//! The layer was written by the command and is an attacker's: nothing in it is followed, believed or executed, and every
//! call names one entry of a directory that is already open.
#![forbid(unsafe_code)]

mod about;
mod apply;
mod branch;
mod change;
mod choose;
mod compare;
mod conflict;
mod content;
mod digest;
mod gauge;
mod git;
mod handoff;
mod hunks;
mod journal;
mod known;
mod leftover;
mod lines;
mod lock;
mod marks;
mod name;
mod onto;
mod patterns;
mod project;
mod reach;
mod read;
mod relative;
mod remove;
mod renames;
mod review;
mod sides;
mod sighted;
mod steps;
mod store;
mod visible;
mod workspace;
mod worktree;

pub use about::{Keep, Mode};
pub use apply::{Applied, ApplyError, Left, Reverted, Settled, Unwatched, Watch};
pub use change::{Change, Changes, Forged, Node, NodeKind, What};
pub use choose::{Choice, Verdict};
pub use digest::ReviewDigest;
pub use gauge::Gauge;
pub use git::{CommitLine, ContainedPath, GitChange, GitMember, RefChange};
pub use handoff::{Content, Seen, held_back};
pub use hunks::{Hunk, Line, hunks, is_binary, taken};
pub use lock::RunLock;
pub use name::{Name, NameError};
pub use relative::{NotRelative, Relative};
pub use review::{Item, Review, Text};
pub use steps::Target;
pub use store::{Begin, Damaged, Store, StoreError};
pub use visible::{is_plain, visible_line, visible_name};
pub use workspace::{Ended, Layers, Workspace};
pub use worktree::{Capture, Captured, Git, PrivatePaths, Project, WorktreeError};
