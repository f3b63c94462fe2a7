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

/// A terminal of the sandbox's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Its size when the command starts.
    pub size: TerminalSize,
    /// The streams of the command that are this terminal; the first of them becomes the controlling
    /// terminal.
    pub streams: StreamSet,
    /// How it treats the command's output.
    pub output: OutputMode,
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Lines.
    pub rows: u16,
    /// Characters on a line.
    pub columns: u16,
}

/// Some of the three standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSet {
    /// Bit n stands for descriptor n.
    pub bits: u8,
}

impl StreamSet {
    /// All three.
    pub const ALL: Self = Self { bits: 0b111 };

    /// Those for which the answer is yes.
    pub fn of(which: [bool; 3]) -> Self {
        Self { bits: (0..3).filter(|number| which[*number]).map(|number| 1 << number).sum() }
    }

    /// Whether a stream is among them. Used between clone and exec.
    pub const fn contains(self, number: usize) -> bool {
        self.bits & (1 << number) != 0
    }

    /// The first of them. Used between clone and exec.
    pub const fn first(self) -> i32 {
        self.bits.trailing_zeros() as i32
    }
}

/// How a terminal treats the command's output; see `OPOST` in termios(3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// A newline gets its carriage return here.
    Processed,
    /// Bytes come out as they went in: the caller's terminal adds the carriage returns.
    Plain,
}

/// A resource limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rlimit {
    /// `RLIMIT_*`.
    pub resource: u32,
    /// Both the soft and the hard value; lowered to the caller's hard limit where that is lower.
    pub value: u64,
}
