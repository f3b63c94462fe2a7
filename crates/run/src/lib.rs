//! From a plan to an outcome: gather facts, choose an engine, start, watch, tear down in reverse.
//!
//! Nothing here prints and nothing here knows an engine by name. What happens is told as events to a sink.
#![forbid(unsafe_code)]

mod cache;
mod choose;
mod claim;
mod facts;
mod filling;
mod git_identity;
mod inlet;
mod limit;
mod name_watch;
mod outlet;
mod prepare;
mod projects;
mod relay;
mod restart;
mod runner;
mod streams;
mod sweep;
mod sweep_record;
mod watch;
mod workspace;
mod worktree;
mod write_log;

pub use choose::{Chosen, Unfit, begin};
pub use facts::{FactsError, gather, machine};
pub use outlet::EventOutlet;
pub use polder_cache as caches;
pub use polder_cache::{Owner, StateError, state, state_path};
pub use polder_engine::{HeadStart, Parting, Session};
pub use prepare::{PrepareError, Prepared, prepare};
pub use restart::{Next, Patience, Restart};
pub use streams::{StreamError, StreamName, Streams};
pub use sweep::NotSetAside;
pub use sweep_record::{
    LeftoverError, LeftoverMode, check_obeyed, check_unwritten, make_sweep_records, settle_leftovers, sweep_records_in,
};
pub use watch::{RunError, Supervision, run};
pub use workspace::WorkspaceError;
