//! How a run ended.

use std::time::Duration;

/// How a run ended, and what it used.
#[must_use = "an outcome says whether the command did what was asked"]
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The way it ended.
    pub ending: Ending,
    /// A limit that was reached on the way, also when the command ended by itself.
    pub limit: Option<LimitKind>,
    /// What it used.
    pub usage: Usage,
    /// How many violations were seen.
    pub violations: u64,
}

/// The way a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The command returned this code.
    Exited(i32),
    /// A signal ended the command.
    Signalled(i32),
    /// Its time was up, and the whole tree was killed.
    TimedOut,
    /// A limit was reached, and the whole tree was killed.
    LimitReached,
    /// The user asked for the end.
    Interrupted(i32),
    /// The command was found and could not be executed; the errno says why.
    NotExecutable(i32),
    /// There is no such command in the sandbox.
    NotFound,
    /// The sandbox vanished and took the command's code with it.
    Lost,
}

impl Outcome {
    /// The exit code of `polder run`: the command's own, or the one that stands for what happened.
    pub const fn exit_code(&self) -> i32 {
        match self.ending {
            Ending::Exited(code) => code,
            Ending::Signalled(signal) | Ending::Interrupted(signal) => 128 + signal,
            Ending::TimedOut => 124,
            // What a kill looks like to every shell and CI system.
            Ending::LimitReached => 137,
            Ending::NotExecutable(_) => 126,
            Ending::NotFound => 127,
            Ending::Lost => 125,
        }
    }

    /// Whether the command ran and returned zero.
    pub const fn success(&self) -> bool {
        matches!(self.ending, Ending::Exited(0))
    }
}

/// A limit of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitKind {
    /// The memory limit: the kernel killed a process of the run.
    Memory,
    /// The process limit: a fork was refused.
    Pids,
    /// The private file systems were full, or a layer became larger than allowed.
    Disk,
    /// More output than was allowed.
    Output,
}

impl LimitKind {
    /// The name in reports and events, which is also the key in `limits`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Disk => "disk",
            Self::Output => "output",
        }
    }
}

/// What a run used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Usage {
    /// From the start of the command to its end.
    pub wall: Duration,
    /// CPU time of the command and of every process that it waited for.
    pub cpu: Duration,
    /// The largest resident set of one process.
    pub peak_rss_bytes: u64,
}
