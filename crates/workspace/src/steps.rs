//! What an apply does, step by step, as data: written down before the first step is taken.

use crate::digest::ContentMark;
use crate::known::Stamp;
use crate::relative::{Relative, Wire};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// One step. All of them are such that taking one twice is the same as taking it once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) path: Relative,
    pub(crate) act: Act,
    /// What must be at the path when the step is taken; nothing, if absent.
    pub(crate) before: Option<Before>,
    /// The step that makes the outermost new directory in which this path lies: it is put in place with it.
    pub(crate) within: Option<usize>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Act {
    /// Removes what is not a directory.
    Remove,
    /// Removes a directory, which is empty by then.
    RemoveDirectory,
    /// Makes a directory.
    Make { mode: u32 },
    /// Puts a file in place, new or instead of another.
    Put {
        source: Source,
        mode: u32,
        allocated: u64,
        /// The mark of the only content that is put there, where a review was asked for by its digest.
        #[serde(default)]
        content: Option<ContentMark>,
    },
    /// Puts a symbolic link in place.
    Link { target: Target },
    /// Sets permission bits: before everything else where they are needed for it, else after it.
    Mode { mode: u32, early: bool },
}

/// Where the content of a file comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Source {
    /// The layer.
    Layer,
    /// Some hunks only: a file that was made for this apply, by the number of the step.
    Made,
}

/// What the tree has at a path before the step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Before {
    pub(crate) stamp: Stamp,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) kind: BeforeKind,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum BeforeKind {
    File { allocated: u64 },
    Directory,
    Symlink { target: Target },
}

/// Where a symbolic link points: any bytes. As text where it is text, else as hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target(pub(crate) OsString);

impl Target {
    /// The target of a link.
    pub fn of(target: &OsStr) -> Self {
        Self(target.to_owned())
    }
}

impl Serialize for Target {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire::of(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Wire::deserialize(deserializer)?.read();
        read.map(Self).ok_or_else(|| serde::de::Error::custom("not hexadecimal"))
    }
}

/// The steps of one apply, and the mark by which its files in the tree are known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Steps {
    pub(crate) token: String,
    pub(crate) steps: Vec<Step>,
    /// For a root caller: to whom new files belong.
    pub(crate) owner: Option<(u32, u32)>,
}

impl Steps {
    /// Where a step prepares what it puts in place: beside the place, or in the new directory that it lies in.
    pub(crate) fn aside(&self, index: usize) -> PathBuf {
        let step = &self.steps[index];
        match step.within {
            Some(top) => {
                let below = step.path.as_path().strip_prefix(self.steps[top].path.as_path());
                self.aside(top).join(below.expect("invariant: `within` is a directory above the path"))
            }
            None => step.path.parent().join(self.aside_name(index)),
        }
    }

    /// The paths at which something is before the apply; a path that becomes something else has two steps.
    pub(crate) fn giving_way(&self) -> BTreeSet<&Relative> {
        self.steps.iter().filter(|step| step.before.is_some()).map(|step| &step.path).collect()
    }

    pub(crate) fn aside_name(&self, index: usize) -> String {
        format!(".polder-{}-{index}", self.token)
    }

    /// Whether a step puts something in place by a rename.
    pub(crate) fn is_placed(&self, index: usize) -> bool {
        let Step { act, within, .. } = &self.steps[index];
        within.is_none() && matches!(act, Act::Make { .. } | Act::Put { .. } | Act::Link { .. })
    }
}
