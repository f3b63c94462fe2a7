//! The applies that can be taken back, the last one first.
//!
//! `applied` is the record of the last one. Those before it are `applied.NUMBER.TOKEN`, and each has its
//! directory below `undo`, named by its token.

use super::{APPLIED, undo_place};
use crate::journal;
use crate::remove::remove_tree;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Applies of one workspace that can be taken back. The old contents of all of them are kept.
const APPLIES_MAX: usize = 32;

/// The record of an earlier apply.
struct EarlierApply {
    number: u64,
    token: String,
    record: PathBuf,
}

/// Makes place for the record of another apply.
pub(super) fn push(place: &Path) -> io::Result<()> {
    let last = place.join(APPLIED);
    // One that cannot be read is none that could be reverted.
    let Ok(Some(record)) = journal::read(&last) else { return Ok(()) };
    let number = earlier(place)?.last().map_or(0, |newest| newest.number + 1);
    fs::rename(last, place.join(format!("{APPLIED}.{number}.{}", record.steps.token)))
}

/// Brings the record before to the top, if nothing is there.
pub(super) fn pop(place: &Path) -> io::Result<()> {
    let top = top(place)?;
    if top == place.join(APPLIED) { Ok(()) } else { fs::rename(top, place.join(APPLIED)) }
}

/// The record of the last apply that was not taken back.
pub(super) fn top(place: &Path) -> io::Result<PathBuf> {
    let last = place.join(APPLIED);
    if last.symlink_metadata().is_ok() {
        return Ok(last);
    }
    Ok(earlier(place)?.pop().map_or(last, |newest| newest.record))
}

/// How many applies can be taken back.
pub(super) fn depth(place: &Path) -> io::Result<usize> {
    Ok(earlier(place)?.len() + usize::from(place.join(APPLIED).symlink_metadata().is_ok()))
}

/// Drops applies that are too many, and what was kept for others than those that can be taken back.
pub(super) fn trim(place: &Path, token: &str) -> io::Result<()> {
    let mut kept = earlier(place)?;
    // The last one is not among them.
    let dropped = kept.len().saturating_sub(APPLIES_MAX - 1);
    for old in kept.drain(..dropped) {
        fs::remove_file(old.record)?;
    }
    for entry in fs::read_dir(place.join("undo"))? {
        let name = entry?.file_name();
        if name != token && !kept.iter().any(|one| name == one.token.as_str()) {
            remove_tree(&undo_place(place, &name.to_string_lossy()))?;
        }
    }
    Ok(())
}

/// The records below the last one, oldest first.
fn earlier(place: &Path) -> io::Result<Vec<EarlierApply>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        found.extend(named(&entry.file_name(), entry.path()));
    }
    found.sort_by_key(|one| one.number);
    Ok(found)
}

fn named(name: &OsStr, record: PathBuf) -> Option<EarlierApply> {
    let (number, token) = name.to_str()?.strip_prefix(APPLIED)?.strip_prefix('.')?.split_once('.')?;
    Some(EarlierApply { number: number.parse().ok()?, token: token.to_owned(), record })
}
