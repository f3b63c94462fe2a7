//! The record of what ran: append-only JSON lines, each with the hash of the one before it.
//!
//! [`Log::append`] returns when the record is on the disk, so that what it describes can begin. Several processes write one log: a
//! lock gives them their order. [`verify`] reads all of it and names what does not fit together, with each other and with
//! the anchor that [`Log::with_anchor`] names. A record never holds a command's text, a variable's value or a secret.
#![forbid(unsafe_code)]

mod anchor;
mod log;
mod record;
mod verify;

pub use log::{AuditError, Log};
pub use record::{BEGINNING, Kind, Record, digest};
pub use verify::{Finding, KnownHead, Verified, verify};
