//! Recording what is done outside of runs: trusting a file, taking changes over. Written down before it is done.

use crate::audit::{log, whole};
use crate::config;
use crate::error::Error;
use polder_audit::{AuditError, Log};
use polder_policy::AuditMode;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;

pub use polder_audit::Kind;

/// Who records deeds, and how strictly.
#[derive(Clone, Debug)]
pub struct Deeds {
    log: Option<Log>,
    mode: Option<AuditMode>,
}

/// How much a deed weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// It is an ordinary thing to do.
    Light,
    /// It goes without a protection, or gives somebody more than before.
    Heavy,
    /// It goes beyond what was decided: it is in the log, whatever a file says about that, or it is not done.
    Elevation,
}

/// Why something is not done: it would not be in the log.
#[derive(Debug, thiserror::Error)]
pub enum Undone {
    /// The log cannot take it.
    #[error("it cannot be recorded, so it is not done")]
    Log(#[from] AuditError),
    /// There is no place for a log.
    #[error("it cannot be recorded, so it is not done: there is no home directory; set HOME or XDG_STATE_HOME")]
    Nowhere,
}

impl Deeds {
    /// As the files of the system and of the user say; a project has no say in it, and a broken one is in nobody's way.
    pub fn of(environment: &BTreeMap<OsString, OsString>) -> Result<Self, Error> {
        Ok(Self { log: log(environment), mode: config::audit_mode(environment)? })
    }

    /// Writes down what is about to be done; an error means that it must not be, and the answer is a warning.
    pub fn record(&self, kind: Kind, weight: Weight, data: &Value) -> Result<Option<String>, Undone> {
        let (recorded, strict) = match (self.mode, weight) {
            (Some(AuditMode::Required), _) | (_, Weight::Elevation) => (true, true),
            (Some(AuditMode::BestEffort), _) | (None, Weight::Heavy) => (true, false),
            (Some(AuditMode::Off), _) | (None, Weight::Light) => (false, false),
        };
        if !recorded {
            return Ok(None);
        }
        let written = match &self.log {
            Some(log) => log.append(kind, data).map(drop).map_err(Undone::Log),
            None => Err(Undone::Nowhere),
        };
        match written {
            Ok(()) => Ok(None),
            Err(error) if strict => Err(error),
            Err(error) => Ok(Some(whole(&error).replace(", so it is not done", ""))),
        }
    }
}
