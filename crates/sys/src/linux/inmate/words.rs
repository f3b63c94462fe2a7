//! What the longer messages hold. Bytes, where a path or an argument need not be text.

use crate::Rlimit;
use serde::{Deserialize, Serialize};
use std::io;

/// What the inmate is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Absolute paths.
    pub paths: Vec<Vec<u8>>,
}

/// What the inmate finds around it, in its kernel's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The release of the kernel.
    pub release: String,
    /// Its version.
    pub version: String,
    /// `/proc/self/status`.
    pub status: String,
    /// `/proc/self/mountinfo`.
    pub mounts: String,
    /// `/proc/net/dev`.
    pub links: String,
    /// The files that were asked for, in order; absent where there is none.
    pub files: Vec<Option<FileSeen>>,
}

/// What tells one file from another, where their numbers are another kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSeen {
    /// Kind and mode.
    pub mode: u32,
    /// Its size in bytes.
    pub size: u64,
    /// When it was changed last: a time that nobody can set. Seconds and nanoseconds.
    pub changed: (i64, i64),
    /// When its content was.
    pub modified: (i64, i64),
}

impl FileSeen {
    /// What a file's own numbers say.
    pub fn of(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            mode: metadata.mode(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// What the inmate does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errand {
    candidates: Vec<Vec<u8>>,
    argv: Vec<Vec<u8>>,
    env: Vec<Vec<u8>>,
    workdir: Vec<u8>,
    rlimits: Vec<(u32, u64)>,
    mask: u32,
}

impl Errand {
    /// A command with its limits, and the mask of this process.
    pub fn new(command: &crate::Command, rlimits: &[Rlimit]) -> Self {
        let all = |list: &[std::ffi::CString]| list.iter().map(|text| text.as_bytes().to_vec()).collect();
        Self {
            candidates: all(&command.candidates),
            argv: all(&command.argv),
            env: all(&command.env),
            workdir: command.workdir.as_bytes().to_vec(),
            rlimits: rlimits.iter().map(|limit| (limit.resource, limit.value)).collect(),
            mask: super::super::door::umask() as u32,
        }
    }

    pub(super) fn parts(&self) -> Parts<'_> {
        let Self { candidates, argv, env, workdir, rlimits, mask } = self;
        Parts { candidates, argv, env, workdir, rlimits, mask: *mask }
    }
}

/// An errand, for whoever does it.
pub(super) struct Parts<'a> {
    pub(super) candidates: &'a [Vec<u8>],
    pub(super) argv: &'a [Vec<u8>],
    pub(super) env: &'a [Vec<u8>],
    pub(super) workdir: &'a [u8],
    pub(super) rlimits: &'a [(u32, u64)],
    pub(super) mask: u32,
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The code, if it exited.
    pub code: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// CPU time of everything that was waited for, in microseconds.
    pub cpu_us: u64,
    /// The largest resident set, in KiB; 0 where the kernel does not say.
    pub peak_kib: u64,
}

macro_rules! message {
    ($($name:ty),*) => {$(
        impl $name {
            /// As bytes of a frame.
            pub fn to_bytes(&self) -> Vec<u8> {
                serde_json::to_vec(self).expect("invariant: numbers, texts and lists have a form in JSON")
            }

            /// From bytes of a frame.
            pub fn from_bytes(bytes: &[u8]) -> io::Result<Self> {
                Ok(serde_json::from_slice(bytes)?)
            }
        }
    )*};
}

message!(Look, Seen, Errand, Done);
