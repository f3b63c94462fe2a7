//! Small answers that are kept for a few seconds, because finding them costs about as much as a run.
//!
//! They live where only the caller can write: root's in `/run/polder`, a user's in its runtime or cache directory. What
//! is kept can be gone, old or another's at any time; whoever reads it must be able to do without.

use crate::unnamed;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
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

    /// A reader never sees half of it, and a link at the name is replaced, not followed.
    fn try_write<T: Serialize>(&self, place: &Path, kept: &Kept<T>) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(place)?;
        let (text, name) = (serde_json::to_vec(kept)?, place.join(self.name));
        match unnamed::create(place) {
            Ok(file) => write_unnamed(file, &text, &name),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => write_aside(&text, &name),
            Err(error) => Err(error),
        }
    }
}

/// Writes a file that has no name yet: a process that is killed meanwhile leaves none behind. Between the two calls the
/// name is missing, and another process finds the answer itself.
fn write_unnamed(mut file: File, text: &[u8], name: &Path) -> io::Result<()> {
    file.write_all(text)?;
    match fs::remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => unnamed::link(&file, name),
    }
}

/// Where a file system has no unnamed files.
fn write_aside(text: &[u8], name: &Path) -> io::Result<()> {
    let aside = name.with_extension(std::process::id().to_string());
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
    let written = file.write_all(text).and_then(|()| fs::rename(&aside, name));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
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

#[cfg(test)]
mod tests {
    use super::{Keeping, write_aside};
    use std::collections::BTreeMap;
    use std::fs;

    #[test]
    fn answer_kept_twice_is_the_last_one_alone() {
        let place = std::env::temp_dir().join(format!("polder-kept-{}", std::process::id()));
        let keeping =
            Keeping { place: Some(place.clone()), ..Keeping::new(&BTreeMap::new(), "answer.json", "q".into()) };
        keeping.write(1);
        keeping.write(2);
        let names: Vec<_> =
            fs::read_dir(&place).expect("a directory").map(|entry| entry.expect("one").file_name()).collect();
        assert_eq!((keeping.read(), names), (Some(2), vec!["answer.json".into()]));
        write_aside(b"{}", &place.join("answer.json")).expect("written");
        assert_eq!(keeping.read::<i32>(), None);
        fs::remove_dir_all(&place).expect("removed");
    }
}
