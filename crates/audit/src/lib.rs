//! The record of what ran: append-only JSON lines, each with the hash of the one before it.
//!
//! [`Log::append`] returns when the record is on the disk, so that what it describes can begin. Several processes write one log: a
//! lock gives them their order. [`verify`] reads all of it and names what does not fit together. A record never holds a
//! command's text, a variable's value or a secret.
#![forbid(unsafe_code)]

mod log;
mod record;
mod verify;

pub use log::{AuditError, Log};
pub use record::{Kind, Record, digest};
pub use verify::{Finding, Verified, verify};
