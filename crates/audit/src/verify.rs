//! Reading the whole log and naming what does not fit together.

use crate::log::{AuditError, Log};
use crate::record::{BEGINNING, Record};
use std::fmt;

/// The most findings that are told.
const FINDINGS_MAX: usize = 100;

/// What was found.
#[must_use = "a log that was read is not yet a log that is whole"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many records there are.
    pub records: u64,
    /// The hash of the last one, to be kept elsewhere.
    pub head: Option<String>,
    /// What is wrong; nothing when the log is whole.
    pub findings: Vec<Finding>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A line is no record, or was changed.
    Edited {
        /// Its place among the lines, from 1.
        line: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Records are missing.
    Missing {
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
    /// A record stands where another one belongs.
    Misplaced {
        /// Its place among the lines, from 1.
        line: usize,
        /// The place that it claims.
        seq: u64,
    },
    /// A record follows another one than the one before it: two histories in one log.
    Forked {
        /// The place of the record.
        seq: u64,
    },
    /// The log ends before its last record.
    Truncated {
        /// The last one that is there.
        last: u64,
        /// The one that was noted as the last.
        noted: u64,
    },
    /// The record that was noted, here or by the caller, is not in the log.
    Replaced,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edited { line, why } => write!(f, "line {line} {why}"),
            Self::Missing { from, to } if from == to => write!(f, "record {from} is missing"),
            Self::Missing { from, to } => write!(f, "records {from} to {to} are missing"),
            Self::Misplaced { line, seq } => write!(f, "line {line} holds record {seq}, which belongs elsewhere"),
            Self::Forked { seq } => write!(f, "record {seq} does not follow the one before it"),
            Self::Truncated { last, noted } => {
                write!(f, "the log ends at record {last}, and record {noted} was written")
            }
            Self::Replaced => f.write_str("the record that was noted as the last is not in the log"),
        }
    }
}

/// Checks every line, the chain, and that what was noted as the end is there. `known` is a hash that the caller kept.
pub fn verify(log: &Log, known: Option<&str>) -> Result<Verified, AuditError> {
    let lines = log.lines()?;
    let noted = log.head()?;
    let (mut findings, mut seen) = (Vec::new(), Vec::new());
    // The last good record, and whether a bad line came after it: then the chain cannot be judged there.
    let (mut last, mut gap) = ((0u64, BEGINNING.to_owned()), false);
    for (index, line) in lines.iter().enumerate() {
        let line_number = index + 1;
        let record = match Record::read(line) {
            Ok(record) => record,
            Err(why) => {
                findings.push(Finding::Edited { line: line_number, why });
                gap = true;
                continue;
            }
        };
        let expected = last.0 + 1;
        if record.seq < expected {
            findings.push(Finding::Misplaced { line: line_number, seq: record.seq });
        } else if record.seq > expected && !gap {
            findings.push(Finding::Missing { from: expected, to: record.seq - 1 });
        } else if record.seq == expected && record.prev != last.1 {
            findings.push(Finding::Forked { seq: record.seq });
        }
        gap = false;
        seen.push((record.seq, record.hash.clone()));
        last = (record.seq.max(last.0), record.hash);
    }
    let has = |hash: &str| seen.iter().any(|(_, known)| known == hash);
    if let Some(noted) = &noted {
        if noted.seq > last.0 {
            findings.push(Finding::Truncated { last: last.0, noted: noted.seq });
        } else if !has(&noted.hash) {
            findings.push(Finding::Replaced);
        }
    }
    if known.is_some_and(|known| !has(known)) {
        findings.push(Finding::Replaced);
    }
    findings.dedup();
    findings.truncate(FINDINGS_MAX);
    Ok(Verified { records: seen.len() as u64, head: seen.last().map(|(_, hash)| hash.clone()), findings })
}

#[cfg(test)]
mod tests;
