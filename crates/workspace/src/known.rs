//! What the tree had when an apply or a revert left it: a path that is still so was not changed by anybody else.

use crate::relative::Relative;
use polder_sys::tree::{Moment, Stat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

const FILE: &str = "known.json";

/// What is known about one workspace is known about another that begins with its changes.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::copy(from.join(FILE), to.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map(drop),
    }
}

/// Enough of a file to tell whether anything about it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    device: u64,
    pub(crate) inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        let pair = |moment: Moment| (moment.seconds, moment.nanoseconds);
        let Stat { device, inode, size, modified, changed, .. } = *stat;
        Self { device, inode, size, modified: pair(modified), changed: pair(changed) }
    }

    /// Whether it is the same file with the same content, whatever names and bits it got since.
    pub(crate) fn is_content_of(&self, stat: &Stat) -> bool {
        Self { changed: Self::of(stat).changed, ..*self } == Self::of(stat)
    }
}

impl Stamp {
    /// Whether size and time of the content are the same, whichever file it is.
    pub(crate) fn is_modified_as(&self, stat: &Stat) -> bool {
        let other = Self::of(stat);
        (self.size, self.modified) == (other.size, other.modified)
    }
}

/// Paths, and how they were left. A path that was left absent has none.
pub(crate) type Known = BTreeMap<Relative, Option<Stamp>>;

pub(crate) fn read(place: &Path) -> io::Result<Known> {
    match fs::read_to_string(place.join(FILE)) {
        Ok(text) => {
            let entries: Vec<(Relative, Option<Stamp>)> = serde_json::from_str(&text)?;
            Ok(entries.into_iter().collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Known::new()),
        Err(error) => Err(error),
    }
}

/// Writes all of it, or leaves what was there.
pub(crate) fn write(place: &Path, known: &Known) -> io::Result<()> {
    let entries: Vec<_> = known.iter().collect();
    let aside = place.join(format!("{FILE}.new"));
    let mut file = File::create(&aside)?;
    file.write_all(serde_json::to_string(&entries)?.as_bytes())?;
    file.sync_data()?;
    fs::rename(aside, place.join(FILE))
}
