//! Records of runs for `polder explain`: `$XDG_STATE_HOME/polder/runs`, one file for each run, closed to everybody else.
//!
//! They are bounded in number and size, hidden from every sandbox, and no evidence: that is what the audit log is for. A
//! run that ended with 0 and was denied nothing leaves none: there is nothing to explain, and every run would pay for the
//! file.

use crate::trust;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// How many are kept; the oldest go first.
pub const RECORDS_MAX: usize = 100;
/// The longest.
pub const RECORD_BYTES_MAX: usize = 256 * 1024;

/// The records of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    directory: PathBuf,
}

/// Where the records of this user are; absent when the user has no home.
pub fn directory(environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    Some(trust::store(environment)?.with_file_name("runs"))
}

/// Where what was learnt about commands is remembered; absent when the user has no home.
pub fn learned(environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    Some(trust::store(environment)?.with_file_name("learned"))
}

impl Records {
    /// The records in this directory, which may not exist yet.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Where they are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps a record and lets the oldest ones go. Written aside and renamed: nobody ever reads half of it. It does not
    /// wait for the disk.
    pub fn keep(&self, run: &str, text: &str) -> io::Result<()> {
        let name = file_name(run).ok_or_else(|| io::Error::other(format!("`{run}` is no name of a run")))?;
        if text.len() > RECORD_BYTES_MAX {
            return Err(io::Error::other(format!("a record of {} bytes is too long", text.len())));
        }
        if self.home_is_gone() {
            return Ok(());
        }
        self.open_directory()?;
        let aside = self.directory.join(format!(".{name}"));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&aside, self.directory.join(name)));
        if written.is_err() {
            // What kept it from being written is the error to tell.
            let _ = fs::remove_file(&aside);
        }
        written?;
        self.rotate()
    }

    /// The runs that are kept, oldest first: a run's name begins with its time.
    pub fn runs(&self) -> io::Result<Vec<String>> {
        let names = self.names()?;
        Ok(names.into_iter().filter_map(|name| run_of(&name).map(str::to_owned)).collect())
    }

    /// The text of a record; `None` if there is none of that name.
    pub fn read(&self, run: &str) -> io::Result<Option<String>> {
        let Some(name) = file_name(run) else { return Ok(None) };
        let path = self.directory.join(name);
        // Nobody but the user can change the directory between the two steps.
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Err(io::Error::other(format!("`{}` is not a file", path.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let mut text = String::new();
        File::open(&path)?.take(RECORD_BYTES_MAX as u64).read_to_string(&mut text)?;
        Ok(Some(text))
    }

    /// Every name in the directory, also of what a crash left, oldest first.
    fn names(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(entry?.file_name().into_string());
        }
        names.sort_by(|a, b| a.trim_start_matches('.').cmp(b.trim_start_matches('.')));
        Ok(names)
    }

    fn rotate(&self) -> io::Result<()> {
        let mut names = self.names()?;
        names.retain(|name| run_of(name.trim_start_matches('.')).is_some());
        for old in names.iter().take(names.len().saturating_sub(RECORDS_MAX)) {
            match fs::remove_file(self.directory.join(old)) {
                // Another run removed it, too.
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Whether somebody removed the home directory while the run went on: it is not made again for a record.
    fn home_is_gone(&self) -> bool {
        // HOME/.local/state/polder/runs
        self.directory.ancestors().nth(4).is_some_and(|home| !home.is_dir())
    }

    fn open_directory(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let found = fs::symlink_metadata(&self.directory)?;
        let (uid, _) = polder_sys::wait::effective_ids();
        if !found.is_dir() || found.permissions().mode() & 0o077 != 0 || found.uid() != uid {
            let place = self.directory.display();
            return Err(io::Error::other(format!("`{place}` is not a directory of this user alone; make it 0700")));
        }
        Ok(())
    }
}

/// The file of a run. Only names that polder gives are ever looked for.
fn file_name(run: &str) -> Option<String> {
    let usual = |c: char| matches!(c, '0'..='9' | 'a'..='f' | '-');
    (!run.is_empty() && run.len() <= 64 && run.chars().all(usual)).then(|| format!("{run}.json"))
}

fn run_of(file_name: &str) -> Option<&str> {
    let run = file_name.strip_suffix(".json")?;
    self::file_name(run).map(|_| run)
}

#[cfg(test)]
mod tests;
