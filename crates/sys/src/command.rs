//! What runs in the end, on every system.

use std::ffi::CString;

/// What runs in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The files to try, in order, absolute or relative to the working directory.
    pub candidates: Vec<CString>,
    /// Its arguments, the first of which is its name.
    pub argv: Vec<CString>,
    /// Its environment, `NAME=value`.
    pub env: Vec<CString>,
    /// Where it starts, absolute inside.
    pub workdir: CString,
    /// Whether it gets a terminal of the sandbox's own.
    pub terminal: Option<Terminal>,
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Lines.
    pub rows: u16,
    /// Characters on a line.
    pub columns: u16,
}

/// A resource limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rlimit {
    /// `RLIMIT_*`.
    pub resource: u32,
    /// Both the soft and the hard value; lowered to the caller's hard limit where that is lower.
    pub value: u64,
}
