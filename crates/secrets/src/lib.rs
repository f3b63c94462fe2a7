//! Secrets: where they come from, how they enter a sandbox, and that nobody prints them.
//!
//! A secret is read when a run begins and lives in memory alone: nothing is written to a disk and nobody's configuration is
//! changed. It is placed as variables of the one run whose policy names it; what the run writes is searched for it.
#![forbid(unsafe_code)]

mod github;
mod redact;
mod secret;
mod source;

pub use github::place as place_github;
pub use redact::Redactor;
pub use secret::Secret;
pub use source::{SourceError, read};
