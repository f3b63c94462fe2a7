//! What a sandbox promises, one name per promise: the vocabulary of `require`, `accept`, fits and reports.

use std::fmt;
use std::str::FromStr;

/// One promise that an engine keeps, keeps in a weaker way, or cannot keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guarantee {
    /// Only the paths of the plan are visible, and only the writable ones can be changed.
    Fs,
    /// Protected paths cannot be changed and denied ones cannot be read, whatever is renamed, linked or created.
    Protect,
    /// A second mechanism, independent of the first, guards the same file view.
    SecondLayer,
    /// The network is what the plan says.
    Net,
    /// Host sockets, shared memory, message queues and keyrings are out of reach.
    Ipc,
    /// Host processes are invisible, and the whole process tree ends with the run.
    Processes,
    /// No capability, no gain by setuid, and the host's uid 0 does not exist inside.
    Privileges,
    /// Only the listed system calls reach the kernel.
    Syscalls,
    /// Only the listed variables enter.
    Env,
    /// Memory is bounded.
    Memory,
    /// CPU time per second is bounded.
    Cpus,
    /// The number of processes and threads is bounded.
    Pids,
    /// The number of open files of a process is bounded.
    Files,
    /// What fits in the private file systems is bounded.
    Disk,
    /// The bytes written to stdout and stderr are bounded.
    Output,
    /// The run ends in time.
    Timeout,
}

impl Guarantee {
    /// Every guarantee, in the order in which reports list them.
    pub const ALL: [Self; 16] = [
        Self::Fs,
        Self::Protect,
        Self::SecondLayer,
        Self::Net,
        Self::Ipc,
        Self::Processes,
        Self::Privileges,
        Self::Syscalls,
        Self::Env,
        Self::Memory,
        Self::Cpus,
        Self::Pids,
        Self::Files,
        Self::Disk,
        Self::Output,
        Self::Timeout,
    ];

    /// The name that configuration, flags and reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fs => "fs",
            Self::Protect => "protect",
            Self::SecondLayer => "second-layer",
            Self::Net => "net",
            Self::Ipc => "ipc",
            Self::Processes => "processes",
            Self::Privileges => "privileges",
            Self::Syscalls => "syscalls",
            Self::Env => "env",
            Self::Memory => "memory",
            Self::Cpus => "cpus",
            Self::Pids => "pids",
            Self::Files => "files",
            Self::Disk => "disk",
            Self::Output => "output",
            Self::Timeout => "timeout",
        }
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is not a guarantee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownGuarantee(pub String);

impl fmt::Display for UnknownGuarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a guarantee; known are ", self.0)?;
        for (i, guarantee) in Guarantee::ALL.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            f.write_str(guarantee.name())?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownGuarantee {}

impl FromStr for Guarantee {
    type Err = UnknownGuarantee;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|g| g.name() == name).ok_or_else(|| UnknownGuarantee(name.to_owned()))
    }
}

/// Why a guarantee is not kept in full, and what would change that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// What is missing, in one sentence without a full stop.
    pub reason: String,
    /// What the user can do about it, other than accepting it.
    pub remedy: Option<String>,
}
