//! What will happen, decided before anything happens.
//!
//! A [`Plan`] is a policy and the facts of a host, resolved, ordered, printable and hashable. It knows no engine: each
//! engine answers it with a fit and lowers it to its own form. Nothing here opens a file, reads the environment, asks
//! the clock or starts a process; the same policy and facts give the same plan.
#![forbid(unsafe_code)]

mod allowance;
mod caches;
mod compile;
mod env;
mod explain;
mod git_identity;
mod plan;
mod sensitive;
mod standing;
mod tolerated;
mod trace;
mod view;

pub use allowance::{ALLOWANCE, Allowance, Protected, Says};
pub use caches::{candidates as cache_candidates, repository as cache_repository};
pub use compile::{Fault, Faults, compile, compile_in};
pub use env::filter as filter_environment;
pub use plan::{
    Asked, Caches, Configuration, FileView, GitView, Identity, Kept, KeyedConfig, Mask, MaskKind, Plan, Reserved, Role,
    Scope, Sharing, Shown, Swept, SystemEntry, SystemKind, Unreplaceable, World, Written,
};
pub use sensitive::{Sensitive, is_never_offered, is_probing, risk};
pub use standing::{Denied, MOUNTS, Standing, Way, Wish};
pub use tolerated::is_optional_write;
pub use trace::{TRACEPARENT, carries_trace};
pub use view::{BORROWED, LENT, STATE, is_project};
