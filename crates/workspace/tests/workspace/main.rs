//! Workspaces on a real file system, and through a real overlay.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a helper of a test that cannot go on is a failed test")]

mod conflicts;
mod copies;
mod crash;
mod digests;
mod hostile;
mod hunks;
mod operations;
mod overlay;
mod repositories;
mod reverts;
mod scene;
mod snapshot;
