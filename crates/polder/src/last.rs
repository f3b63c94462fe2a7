//! The last command that a user ran in a directory, for `polder again`: `$XDG_STATE_HOME/polder/last`, one file for each
//! directory, closed to other users and hidden from every sandbox.
//!
//! It is the one place where polder keeps the text of a command, and it is kept only of a run that failed or was denied
//! something. A value of `--env NAME=VALUE` is never kept, only the name.

use crate::trust;
use polder_audit::digest;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Directories of which the last command is kept; the oldest go first.
const DIRECTORIES_MAX: usize = 100;
/// The longest command with its options.
const LAST_BYTES_MAX: usize = 256 * 1024;

/// A command as it was given to `polder run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastCommand {
    /// The directory in which polder was called.
    pub directory: PathBuf,
    /// The options and the command, without the values of variables.
    pub words: Vec<String>,
    /// Variables that were given with a value.
    pub withheld: Vec<String>,
}

impl LastCommand {
    /// What is kept of a call: `options` are the words before the command. Absent for words that are not UTF-8.
    pub fn of(directory: &Path, options: &[OsString], command: &[OsString]) -> Option<Self> {
        let (mut words, mut withheld) = (Vec::new(), Vec::new());
        let mut rest = options.iter();
        while let Some(word) = rest.next() {
            let word = word.to_str()?;
            let value = match word.strip_prefix("--env=") {
                Some(value) => value,
                None if word == "--env" => rest.next()?.to_str()?,
                None => {
                    words.extend((word != "--").then(|| word.to_owned()));
                    continue;
                }
            };
            match value.split_once('=') {
                Some((name, _)) => withheld.push(name.to_owned()),
                None => words.extend(["--env".to_owned(), value.to_owned()]),
            }
        }
        words.push("--".to_owned());
        for word in command {
            words.push(word.to_str()?.to_owned());
        }
        Some(Self { directory: directory.to_owned(), words, withheld })
    }

    /// Keeps it in the place of the one before.
    pub fn keep(&self, environment: &BTreeMap<OsString, OsString>) -> io::Result<()> {
        let Self { directory, words, withheld } = self;
        let Some(store) = store(environment) else { return Ok(()) };
        let text = json!({"version": 1, "directory": directory.to_str(), "words": words, "withheld": withheld});
        let text = text.to_string();
        if text.len() > LAST_BYTES_MAX || directory.to_str().is_none() {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&store)?;
        let found = fs::symlink_metadata(&store)?;
        let (uid, _) = polder_sys::wait::effective_ids();
        if !found.is_dir() || found.permissions().mode() & 0o077 != 0 || found.uid() != uid {
            let place = store.display();
            return Err(io::Error::other(format!("`{place}` is not a directory of this user alone; make it 0700")));
        }
        let aside = store.join(format!(".{}", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
        let kept = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&aside, place(&store, directory)));
        if kept.is_err() {
            // What kept it from being written is the error to tell.
            let _ = fs::remove_file(&aside);
        }
        kept?;
        rotate(&store)
    }

    /// The one that is kept for a directory.
    pub fn find(directory: &Path, environment: &BTreeMap<OsString, OsString>) -> io::Result<Option<Self>> {
        let Some(store) = store(environment) else { return Ok(None) };
        let file = place(&store, directory);
        match fs::symlink_metadata(&file) {
            Ok(found) if found.is_file() && found.len() <= LAST_BYTES_MAX as u64 => {}
            Ok(_) => return Err(io::Error::other(format!("`{}` is not what polder wrote", file.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let value: Value = serde_json::from_slice(&fs::read(&file)?)?;
        let list = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let read = list(&value["words"]).zip(list(&value["withheld"]));
        let same = value["version"] == 1 && value["directory"].as_str().map(Path::new) == Some(directory);
        let (words, withheld) = read
            .filter(|_| same)
            .ok_or_else(|| io::Error::other(format!("`{}` is not what polder wrote", file.display())))?;
        Ok(Some(Self { directory: directory.to_owned(), words, withheld }))
    }
}

/// Where they are; absent when the user has no home.
fn store(environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let store = trust::store(environment)?.with_file_name("last");
    // HOME/.local/state/polder/last: a home that was removed meanwhile is not made again.
    store.ancestors().nth(4).is_some_and(Path::is_dir).then_some(store)
}

fn place(store: &Path, directory: &Path) -> PathBuf {
    store.join(format!("{}.json", digest(directory.as_os_str().as_bytes())))
}

fn rotate(store: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(store)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    for (_, old) in files.iter().take(files.len().saturating_sub(DIRECTORIES_MAX)) {
        match fs::remove_file(old) {
            // Another run removed it, too.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_command_keeps_names_of_variables_and_no_value() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let options = words("--env A=hunter2 --memory 1G --env=B=hunter2 --env C --env=D --");
        let kept = LastCommand::of(Path::new("/w"), &options, &words("sh -c x --env E=kept")).expect("UTF-8");
        assert_eq!(kept.words.join(" "), "--memory 1G --env C --env D -- sh -c x --env E=kept");
        assert_eq!(kept.withheld, ["A", "B"]);
    }
}
