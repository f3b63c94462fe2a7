//! Configuration that no run has written: what earlier runs left is set aside before it is read, and
//! a file that a run at work may have written does not count.

use crate::config::{self, Files, Said};
use crate::error::Error;
use polder_policy::{Overrides, Trust};
use polder_run::{LeftoverError, LeftoverMode, caches};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run that was killed a moment ago ends within milliseconds.
const TRIES_MAX: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// Reads everything that speaks about runs in `directory`, as [`config::read`] does.
pub(crate) fn read_settled(
    directory: &Path,
    files: &Files,
    environment: &BTreeMap<OsString, OsString>,
    overrides: &Overrides,
    mode: LeftoverMode,
    trust: &Trust,
) -> Result<Said, Error> {
    let Some(records) = records(environment, mode) else {
        return config::read(directory, files, environment, overrides.clone());
    };
    let resolved = polder_sys::facts::resolve(directory)
        .map_err(|source| Error::Directory { path: directory.to_owned(), source })?;
    let mut notices = Vec::new();
    let mut tries = 1;
    loop {
        notices.extend(polder_run::settle_leftovers(&records, &resolved, mode)?);
        let said = config::read(directory, files, environment, overrides.clone())?;
        // Looked at after the files were read: a run that began meanwhile is seen as well.
        match polder_run::check_obeyed(&records, &resolved, &said.obeyed_files()) {
            Ok(()) => {
                polder_run::check_unwritten(&records, &said.unvouched_files(trust))?;
                return Ok(Said { notices, ..said });
            }
            Err(LeftoverError::InUse { .. }) if tries < TRIES_MAX => {
                tries += 1;
                std::thread::sleep(BETWEEN_TRIES);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Where the records of runs are. They are made before the plan, which hides them.
fn records(environment: &BTreeMap<OsString, OsString>, mode: LeftoverMode) -> Option<PathBuf> {
    let home = config::home(environment);
    let place = caches::resolved(&caches::place(environment, &home)?);
    let records = polder_run::sweep_records_in(place.parent()?);
    if mode == LeftoverMode::SetAside {
        // A run that cannot write a record says so.
        let _ = polder_run::make_sweep_records(&records, &home);
    }
    Some(records)
}
