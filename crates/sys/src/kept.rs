//! Small answers that are kept for a few seconds, because finding them costs about as much as a run.
//!
//! They live where only the caller can write: root's in `/run/polder`, a user's in its runtime or cache directory. What
//! is kept can be gone, old or another's at any time; whoever reads it must be able to do without.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Long enough for a burst of runs, short enough for a changed sysctl to be noticed.
const KEPT_SECONDS: u64 = 30;

#[derive(Serialize, Deserialize)]
struct Kept<T> {
    key: String,
    seconds: u64,
    value: T,
}

/// A place for one answer.
#[derive(Clone, Debug)]
pub struct Keeping {
    place: Option<PathBuf>,
    name: &'static str,
    key: String,
}

impl Keeping {
    /// The place of this name in the caller's directory, for answers to this question.
    pub fn new(environment: &BTreeMap<OsString, OsString>, name: &'static str, key: String) -> Self {
        Self { place: place(environment), name, key }
    }

    /// The answer of a moment ago, if it is one to this question.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        let text = fs::read(self.place.as_deref()?.join(self.name)).ok()?;
        let kept: Kept<T> = serde_json::from_slice(&text).ok()?;
        let young = now().checked_sub(kept.seconds).is_some_and(|age| age < KEPT_SECONDS);
        (kept.key == self.key && young).then_some(kept.value)
    }

    /// Keeps an answer. Where that does not work it costs time, nothing else.
    pub fn write<T: Serialize>(&self, value: T) {
        if let Some(place) = &self.place {
            let _ = self.try_write(place, &Kept { key: self.key.clone(), seconds: now(), value });
        }
    }

    /// Written aside and renamed: a reader never sees half of it, and a link at the name is replaced, not followed.
    fn try_write<T: Serialize>(&self, place: &Path, kept: &Kept<T>) -> std::io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(place)?;
        let aside = place.join(format!("{}.{}", self.name, std::process::id()));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
        let written =
            file.write_all(&serde_json::to_vec(kept)?).and_then(|()| fs::rename(&aside, place.join(self.name)));
        if written.is_err() {
            let _ = fs::remove_file(&aside);
        }
        written
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn place(environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    // SAFETY: no arguments, cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        return Some(PathBuf::from("/run/polder"));
    }
    let variable = |name: &str| {
        let value = environment.get(&OsString::from(name)).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let base = variable("XDG_RUNTIME_DIR")
        .or_else(|| variable("XDG_CACHE_HOME"))
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("polder"))
}
