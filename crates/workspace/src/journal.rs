//! The record of an apply, on disk before the first change and after every stage of it.
//!
//! ```text
//! planned ──► staged ──► applied        nothing is in place ──► everything is ready beside its place ──► done
//!    │           │           └──► reverting                     a revert is taken back to its end, never half
//!    └──abort────┴──abort──► (no journal)
//! ```
//!
//! A journal is lines of JSON, each brought to the disk before what it allows is begun. A last line without its break was
//! being written when the power went: it says nothing.

use crate::known::Stamp;
use crate::relative::Relative;
use crate::steps::Steps;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The form of the journal that this program writes and reads.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
enum Entry {
    Planned {
        version: u32,
        steps: Steps,
    },
    /// What each step has ready, if it has something.
    Staged {
        ready: Vec<Option<Stamp>>,
    },
    /// How each path was left.
    Applied {
        left: Vec<(Relative, Option<Stamp>)>,
    },
    /// The same paths have other numbers and stamps, and the same content.
    Renewed {
        ready: Vec<Option<Stamp>>,
        left: Vec<(Relative, Option<Stamp>)>,
    },
    /// These paths stay, because the host worked on the repository that they are a part of.
    Blocked {
        paths: Vec<Relative>,
    },
    Reverting,
    /// These paths are back to what they were, and are none of this apply any more.
    TakenBack {
        paths: Vec<Relative>,
    },
}

/// How far an apply came.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    Planned,
    Staged,
    Applied,
    Reverting,
}

/// Everything that a journal says.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) steps: Steps,
    /// What each step has ready or has put in place, if anything.
    pub(crate) ready: Vec<Option<Stamp>>,
    pub(crate) left: Vec<(Relative, Option<Stamp>)>,
    pub(crate) stage: Stage,
    /// Paths that were taken back already, when others could not be.
    pub(crate) taken_back: BTreeSet<Relative>,
    /// Paths that are not taken back by the revert that is under way.
    pub(crate) blocked: BTreeSet<Relative>,
}

impl Record {
    /// An apply of which nothing is done yet.
    pub(crate) fn planned(steps: Steps) -> Self {
        Self {
            steps,
            ready: Vec::new(),
            left: Vec::new(),
            stage: Stage::Planned,
            taken_back: BTreeSet::new(),
            blocked: BTreeSet::new(),
        }
    }

    /// The paths that it is about.
    pub(crate) fn paths(&self) -> BTreeSet<Relative> {
        let paths = self.steps.steps.iter().map(|step| &step.path);
        paths.filter(|path| !self.taken_back.contains(path)).cloned().collect()
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
}

impl Journal {
    /// Begins a journal. From here on the workspace counts as interrupted until the journal is gone.
    pub(crate) fn begin(path: &Path, steps: &Steps) -> io::Result<Self> {
        // Under another name until it is whole: a journal that cannot be read would be in everybody's way.
        let aside = beside(path);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
        write(&file, &Entry::Planned { version: VERSION, steps: steps.clone() })?;
        std::fs::rename(&aside, path)?;
        sync_directory(path)?;
        Ok(Self { file })
    }

    /// Goes on with a journal. A line that was not written to its end is cut off first, or the next one would be a part of it.
    pub(crate) fn reopen(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let text = std::fs::read(path)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        if whole < text.len() {
            file.set_len(whole as u64)?;
        }
        Ok(Self { file })
    }

    pub(crate) fn staged(&mut self, ready: &[Option<Stamp>]) -> io::Result<()> {
        write(&self.file, &Entry::Staged { ready: ready.to_vec() })
    }

    pub(crate) fn applied(&mut self, left: &[(Relative, Option<Stamp>)]) -> io::Result<()> {
        write(&self.file, &Entry::Applied { left: left.to_vec() })
    }

    /// Says anew how an apply left its paths, in the order in which it was said before.
    pub(crate) fn renewed(&mut self, record: &Record) -> io::Result<()> {
        write(&self.file, &Entry::Renewed { ready: record.ready.clone(), left: record.left.clone() })
    }

    /// Says which paths are back to what they were, where others are not.
    pub(crate) fn taken_back(&mut self, paths: impl Iterator<Item = Relative>) -> io::Result<()> {
        write(&self.file, &Entry::TakenBack { paths: paths.collect() })
    }

    /// Says which paths a revert leaves alone, as a whole. What an earlier one said does not count any more.
    pub(crate) fn blocked(&mut self, paths: &BTreeSet<Relative>) -> io::Result<()> {
        write(&self.file, &Entry::Blocked { paths: paths.iter().cloned().collect() })
    }

    pub(crate) fn reverting(&mut self) -> io::Result<()> {
        write(&self.file, &Entry::Reverting)
    }
}

fn beside(path: &Path) -> PathBuf {
    path.with_extension("new")
}

/// Adds a line, or leaves the journal as it was: whoever meets the error writes another line, and half of one before it
/// would make both unreadable.
fn write(file: &File, entry: &Entry) -> io::Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    let end = file.metadata()?.len();
    let written = file.write_all_at(&line, end).and_then(|()| file.sync_data());
    if written.is_err() {
        // Where this fails as well, `reopen` cuts.
        let _ = file.set_len(end);
    }
    written
}

/// Brings a new name to the disk.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    File::open(parent)?.sync_data()
}

/// What a journal says, if there is one.
pub(crate) fn read(path: &Path) -> io::Result<Option<Record>> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("the journal {what}"));
    let mut record: Option<Record> = None;
    for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        match (serde_json::from_slice(line)?, &mut record) {
            (Entry::Planned { version, .. }, _) if version != VERSION => {
                let what = format!(
                    "has version {version}, and this polder knows {VERSION}; settle the apply with the polder that began it"
                );
                return Err(wrong(&what));
            }
            (Entry::Planned { steps, .. }, none @ None) => {
                *none = Some(Record::planned(steps));
            }
            (Entry::Staged { ready }, Some(record)) if ready.len() == record.steps.steps.len() => {
                record.ready = ready;
                record.stage = Stage::Staged;
            }
            (Entry::Applied { left }, Some(record)) => {
                record.left = left;
                record.stage = Stage::Applied;
            }
            (Entry::Renewed { ready, left }, Some(record)) => {
                record.ready = ready;
                record.left = left;
            }
            (Entry::TakenBack { paths }, Some(record)) => record.taken_back.extend(paths),
            (Entry::Blocked { paths }, Some(record)) => record.blocked = paths.into_iter().collect(),
            (Entry::Reverting, Some(record)) => record.stage = Stage::Reverting,
            _ => return Err(wrong("has its lines in no order that can be")),
        }
    }
    record.map(Some).ok_or_else(|| wrong("is empty"))
}

#[cfg(test)]
mod tests;
