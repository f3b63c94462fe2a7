//! The anchor: a note of the log's last record in another directory than the log.
//!
//! A log that lost its end together with the note beside it, or that is gone, is consistent in itself; the anchor tells.
//! It is written after the record is on the disk, so it is never ahead of an honest log. It is not synced itself: a
//! power failure can leave an older one, which still names a record of the log, or none, which says so.

use crate::log::End;
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What an anchor is read to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Anchored {
    /// The log has none, by the caller's choice.
    Unasked,
    /// There is none.
    Missing,
    /// There is one, and it names no record.
    Broken,
    /// The record that it names.
    At(End),
}

/// Reads an anchor.
pub(crate) fn read(path: &Path) -> io::Result<Anchored> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Anchored::Missing),
        Err(error) => return Err(error),
    };
    let read = || -> Option<End> {
        let value: Value = serde_json::from_slice(&text).ok()?;
        Some(End::new(value["seq"].as_u64()?, value["hash"].as_str()?))
    };
    Ok(read().map_or(Anchored::Broken, Anchored::At))
}

/// Writes an anchor: a new file in the place of the old one, so that a reader finds a whole one.
pub(crate) fn write(path: &Path, log: &Path, end: &End) -> io::Result<()> {
    let text = json!({"log": log.to_string_lossy(), "seq": end.seq, "hash": end.hash}).to_string();
    let aside: PathBuf = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = match options.open(&aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let directory = path.parent().unwrap_or(Path::new("/"));
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            options.open(&aside)?
        }
        other => other?,
    };
    file.write_all(text.as_bytes())?;
    fs::rename(&aside, path)
}
