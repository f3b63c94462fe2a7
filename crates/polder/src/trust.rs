//! What the user has trusted, remembered by content: `$XDG_STATE_HOME/polder/trusted`, one hash and path a line.

use polder_policy::Trust;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file in which trust is remembered; absent when the user has no home.
pub fn store(environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let variable = |name: &str| {
        let value = environment.get(&OsString::from(name)).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let base = variable("XDG_STATE_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/state")))?;
    Some(base.join("polder/trusted"))
}

/// What is trusted for this call: everything if the caller says so, else what is remembered.
pub fn for_call(environment: &BTreeMap<OsString, OsString>, everything: bool) -> Trust {
    let by_variable = environment.get(&OsString::from("POLDER_TRUST_PROJECT")).is_some_and(|value| value == "1");
    if everything || by_variable {
        return Trust::Everything;
    }
    let text = store(environment).and_then(|store| fs::read_to_string(store).ok()).unwrap_or_default();
    Trust::Only(text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
}

/// Remembers a content.
pub fn remember(store: &Path, hash: &str, path: &Path) -> io::Result<()> {
    if let Some(parent) = store.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let mut file = fs::OpenOptions::new().append(true).create(true).mode(0o600).open(store)?;
    // The path is for people; a line break in it must not look like another entry.
    let shown = path.display().to_string().replace(['\n', '\r'], "?");
    writeln!(file, "{hash} {shown}")
}

/// Forgets a content; says whether it was known.
pub fn forget(store: &Path, hash: &str) -> io::Result<bool> {
    let text = match fs::read_to_string(store) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let kept: Vec<&str> = text.lines().filter(|line| line.split(' ').next() != Some(hash)).collect();
    let known = kept.len() < text.lines().count();
    if known {
        let aside = store.with_extension(format!("new-{}", std::process::id()));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
        for line in kept {
            writeln!(file, "{line}")?;
        }
        fs::rename(&aside, store)?;
    }
    Ok(known)
}
