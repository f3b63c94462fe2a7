//! Secrets: where they come from, how they enter a sandbox, and that nobody prints them.
//!
//! A secret is read when a run begins and lives in memory alone: nothing is written to a disk and nobody's configuration is
//! changed. It is placed as variables of the one run whose policy names it, or passes by a name that everybody knows;
//! what the run writes is searched for it.
#![forbid(unsafe_code)]

mod app;
mod github;
mod jwt;
mod keeper;
mod known;
mod redact;
mod roots;
mod secret;
mod source;
mod web;

pub use app::{AppError, VARIABLES as APP_VARIABLES};
pub use github::place as place_github;
pub use jwt::KeyError;
pub use keeper::{GITHUB_APP, Keeper};
pub use known::known_secrets;
pub use redact::Redactor;
pub use roots::{AUTHORITIES_FILE, authorities};
pub use secret::Secret;
pub use source::SourceError;
