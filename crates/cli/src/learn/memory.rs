//! What earlier calls learnt for a file. It is remembered where no sandbox reaches, and the file is never read back: a
//! command could have written it.

use super::lesson::Lesson;
use crate::exit::Failure;
use polder_audit::digest;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The longest memory that is read.
const MEMORY_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A file that is written from what is learnt, and what is known for it.
pub(super) struct Memory {
    /// The file.
    pub(super) file: PathBuf,
    place: PathBuf,
    /// What was learnt so far.
    pub(super) lesson: Lesson,
    /// Whether the file is there, as an earlier call wrote it.
    pub(super) is_ours: bool,
}

impl Memory {
    /// What is known for a file; an error if somebody else wrote it.
    pub(super) fn of(file: PathBuf, environment: &BTreeMap<OsString, OsString>) -> Result<Self, Failure> {
        let directory = polder::records::learned(environment).ok_or_else(|| {
            Failure::new("there is no home directory to remember in what was learnt; set HOME or XDG_STATE_HOME")
        })?;
        let file = in_a_real_directory(&file)
            .map_err(|error| Failure::new(format!("`{}` cannot be written: {error}", file.display())))?;
        let place = directory.join(format!("{}.json", digest(file.as_os_str().as_bytes())));
        let known = read(&place);
        let found = match fs::symlink_metadata(&file) {
            Ok(found) => Some(found.is_file()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Failure::new(format!("`{}` cannot be looked at: {error}", file.display()))),
        };
        let is_ours = match found {
            // Who removed it wants to begin anew.
            None => return Ok(Self { file, place, lesson: Lesson::nothing(), is_ours: false }),
            Some(is_file) => is_file && known.as_ref().is_some_and(|known| is_written(&file, &known["hash"])),
        };
        if !is_ours {
            let name = file.display();
            return Err(Failure::new(format!(
                "`{name}` is there, and not as `polder learn` wrote it; name another file with --to, or remove it"
            )));
        }
        let lesson = known.map_or_else(Lesson::nothing, |known| Lesson::from_json(&known["lesson"]));
        Ok(Self { file, place, lesson, is_ours })
    }

    /// Writes the file, and remembers what it comes from.
    pub(super) fn write(&self, text: &str) -> io::Result<()> {
        // The command is gone by now, but it may have put a link in the place of a directory.
        if in_a_real_directory(&self.file)? != self.file {
            return Err(io::Error::other("its directory was turned elsewhere meanwhile"));
        }
        if let Some(directory) = self.place.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let hash = digest(text.as_bytes());
        let known = json!({"file": self.file.display().to_string(), "hash": hash, "lesson": self.lesson.to_json()});
        // First what is known: a file without it would be somebody else's.
        replace(&self.place, &known.to_string(), 0o600)?;
        replace(&self.file, text, 0o644)
    }
}

/// The same file with the links resolved that lead to its directory.
fn in_a_real_directory(file: &Path) -> io::Result<PathBuf> {
    let name = file.file_name().ok_or_else(|| io::Error::other("it is not the name of a file"))?;
    Ok(file.parent().unwrap_or(Path::new("/")).canonicalize()?.join(name))
}

fn read(place: &Path) -> Option<Value> {
    let short = fs::metadata(place).is_ok_and(|found| found.len() <= MEMORY_BYTES_MAX);
    short.then(|| fs::read(place).ok()).flatten().and_then(|text| serde_json::from_slice(&text).ok())
}

fn is_written(file: &Path, hash: &Value) -> bool {
    let short = fs::metadata(file).is_ok_and(|found| found.len() <= MEMORY_BYTES_MAX);
    short && fs::read(file).is_ok_and(|text| hash.as_str() == Some(&digest(&text)))
}

/// A new file in the place of the old one, whatever that is.
fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&aside)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&aside, path));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}
