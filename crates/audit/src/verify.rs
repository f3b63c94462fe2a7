//! Reading the whole log and naming what does not fit together.

use crate::anchor::Anchored;
use crate::log::{AuditError, Log, Whole};
use crate::record::{BEGINNING, Record};
use std::fmt;
use std::str::FromStr;

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
    /// The record that the anchor names, if the log has an anchor: the log had at least this many records.
    pub anchored: Option<u64>,
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
    /// The log goes on behind the record that was noted, by more than a crash can leave there.
    Prolonged {
        /// The last one that is there.
        last: u64,
        /// The one that was noted as the last.
        noted: u64,
    },
    /// There are records, and no note of the last one.
    Unnoted,
    /// What was noted as the end names no record.
    BrokenNote,
    /// The anchor outside of the log names a later record than the last one that is there.
    Lost {
        /// The last one that is there; 0 when the log is gone.
        last: u64,
        /// The one that the anchor names.
        anchored: u64,
    },
    /// The anchor names another record than the log has in its place.
    OtherHistory {
        /// The place of the record.
        seq: u64,
    },
    /// There are records, and no anchor.
    AnchorMissing,
    /// The anchor names no record.
    AnchorBroken,
}

/// The end of a log that the caller kept elsewhere: `COUNT:HASH`, or the hash alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownHead {
    /// How many records there were.
    pub count: Option<u64>,
    /// The hash of the last one.
    pub hash: String,
}

impl FromStr for KnownHead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (count, hash) = match text.split_once(':') {
            Some((count, hash)) => (Some(count.parse().map_err(|_| format!("`{count}` is no count"))?), hash),
            None => (None, text),
        };
        let is_hash = hash.len() == BEGINNING.len() && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            return Err(format!("`{hash}` is no hash; `polder audit head` prints COUNT:HASH"));
        }
        Ok(Self { count, hash: hash.to_ascii_lowercase() })
    }
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
            Self::Prolonged { last, noted } => {
                write!(f, "the log ends at record {last}, and record {noted} was noted as the last")
            }
            Self::Unnoted => f.write_str("the note of the last record is gone"),
            Self::BrokenNote => f.write_str("the note of the last record names none"),
            Self::Lost { last: 0, anchored } => {
                write!(f, "the log is gone or empty, and its anchor names record {anchored} as the last one")
            }
            Self::Lost { last, anchored } => {
                write!(f, "the log ends at record {last}, and its anchor names record {anchored} as the last one")
            }
            Self::OtherHistory { seq } => write!(f, "record {seq} is another one than the anchor names"),
            Self::AnchorMissing => f.write_str("the anchor of the log is missing; the next record writes it anew"),
            Self::AnchorBroken => f.write_str("the anchor of the log names no record; the next one writes it anew"),
        }
    }
}

/// Checks every line, the chain, that what was noted as the end is there, and what the anchor names. `known` is an end
/// of the log that the caller kept.
pub fn verify(log: &Log, known: Option<&KnownHead>) -> Result<Verified, AuditError> {
    let Whole { lines, head, anchor } = log.read()?;
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
    findings.extend(match head {
        Ok(None) if lines.is_empty() => None,
        Ok(None) => Some(Finding::Unnoted),
        Ok(Some(noted)) if noted.seq > last.0 => Some(Finding::Truncated { last: last.0, noted: noted.seq }),
        Ok(Some(noted)) if last.0 > noted.seq + 1 => Some(Finding::Prolonged { last: last.0, noted: noted.seq }),
        // A log that has only begun has no record to be noted.
        Ok(Some(noted)) => (noted.seq > 0 && !has(&noted.hash)).then_some(Finding::Replaced),
        Err(AuditError::Broken { .. }) => Some(Finding::BrokenNote),
        Err(other) => return Err(other),
    });
    let is_there = |KnownHead { count, hash }: &KnownHead| match count {
        // The end of a log that has only begun.
        Some(0) => hash == BEGINNING,
        Some(count) => seen.iter().any(|(seq, known)| (seq, known) == (count, hash)),
        None => has(hash),
    };
    if known.is_some_and(|known| !is_there(known)) {
        findings.push(Finding::Replaced);
    }
    let anchored = match &anchor {
        Anchored::At(noted) => Some(noted.seq),
        Anchored::Unasked | Anchored::Missing | Anchored::Broken => None,
    };
    findings.extend(match anchor {
        Anchored::Unasked => None,
        Anchored::Missing => (!lines.is_empty()).then_some(Finding::AnchorMissing),
        Anchored::Broken => Some(Finding::AnchorBroken),
        Anchored::At(noted) if noted.seq > last.0 => Some(Finding::Lost { last: last.0, anchored: noted.seq }),
        // A line that was changed is told already; an anchor of no record has nothing to compare.
        Anchored::At(noted) => {
            let other = seen.iter().any(|(seq, hash)| *seq == noted.seq && *hash != noted.hash);
            other.then_some(Finding::OtherHistory { seq: noted.seq })
        }
    });
    findings.dedup();
    findings.truncate(FINDINGS_MAX);
    let head = seen.last().map(|(_, hash)| hash.clone());
    Ok(Verified { records: seen.len() as u64, head, anchored, findings })
}

#[cfg(test)]
mod tests;
