//! One line of the log.
//!
//! The hash is the last field and covers every byte before it, so checking a line needs no canonical form of JSON, and the
//! hash of the line before is among those bytes.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::time::SystemTime;

/// The longest line.
pub(crate) const LINE_BYTES_MAX: usize = 256 * 1024;
/// What stands between the fields that are covered and the hash.
const SEAM: &str = ",\"hash\":\"";
/// `"}` behind a hash.
const END: &str = "\"}";
const HASH_LETTERS: usize = 64;

/// What the line before the first one would have.
pub const BEGINNING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A run is about to begin.
    RunBegin,
    /// A run has ended.
    RunEnd,
    /// Somebody was given more than before.
    Grant,
    /// Changes of a workspace were taken over.
    Apply,
    /// The broker let something through or did not.
    Egress,
    /// The anchor of the log was gone, and is written anew from here on.
    AnchorRenewed,
}

impl Kind {
    /// The word in the log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RunBegin => "run-begin",
            Self::RunEnd => "run-end",
            Self::Grant => "grant",
            Self::Apply => "apply",
            Self::Egress => "egress",
            Self::AnchorRenewed => "anchor-renewed",
        }
    }
}

/// A line of the log that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its place in the log, from 1.
    pub seq: u64,
    /// The hash of the line before it.
    pub prev: String,
    /// Its own hash.
    pub hash: String,
    /// All of it.
    pub value: Value,
}

impl Record {
    /// The line that follows `last`, without its line break, and its hash.
    pub(crate) fn line(seq: u64, prev: &str, kind: Kind, data: &Value) -> (String, String) {
        let time = humantime::format_rfc3339_millis(SystemTime::now());
        let kind = kind.name();
        let covered =
            format!("{{\"seq\":{seq},\"prev\":\"{prev}\",\"time\":\"{time}\",\"kind\":\"{kind}\",\"data\":{data}");
        let hash = digest(covered.as_bytes());
        (format!("{covered}{SEAM}{hash}{END}"), hash)
    }

    /// Reads a line and checks that its hash is its own.
    pub(crate) fn read(line: &[u8]) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(line).map_err(|_| "is not text")?;
        if text.is_empty() {
            return Err("is empty");
        }
        let (covered, hash) = text
            .len()
            .checked_sub(SEAM.len() + HASH_LETTERS + END.len())
            .filter(|at| text.is_char_boundary(*at))
            .map(|at| text.split_at(at))
            .and_then(|(covered, rest)| Some((covered, rest.strip_prefix(SEAM)?.strip_suffix(END)?)))
            .ok_or("has no hash at its end")?;
        if digest(covered.as_bytes()) != hash {
            return Err("was changed: its hash is not its own");
        }
        let value: Value = serde_json::from_str(text).map_err(|_| "is not JSON")?;
        let seq = value["seq"].as_u64().ok_or("has no place")?;
        let prev = value["prev"].as_str().ok_or("does not name the one before")?.to_owned();
        Ok(Self { seq, prev, hash: hash.to_owned(), value })
    }
}

/// SHA-256 in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(HASH_LETTERS), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
