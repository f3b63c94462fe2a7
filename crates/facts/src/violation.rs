//! An action that was denied, and the grant that would allow it.

use crate::Grant;

/// What was attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Reading or finding a file.
    FileRead,
    /// Creating, changing or removing a file.
    FileWrite,
    /// Starting a program.
    Exec,
    /// Reaching an address or a socket.
    Network,
    /// A system call that is not on the list.
    Syscall,
    /// Using more than a limit allows.
    Limit,
}

impl Action {
    /// The name in events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FileRead => "file-read",
            Self::FileWrite => "file-write",
            Self::Exec => "exec",
            Self::Network => "network",
            Self::Syscall => "syscall",
            Self::Limit => "limit",
        }
    }

    /// The same in a sentence, with the word that leads to the target.
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::FileRead => ("read", "of"),
            Self::FileWrite => ("write", "to"),
            Self::Exec => ("execution", "of"),
            Self::Network => ("connection", "to"),
            Self::Syscall => ("system call", ""),
            Self::Limit => ("use", "of"),
        }
    }
}

/// One denied action, as the layer that denied it saw it; never guessed from the text of stderr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What was attempted.
    pub action: Action,
    /// On what.
    pub target: String,
    /// The rule that denied it.
    pub rule: String,
    /// The layer that enforced the rule.
    pub layer: String,
    /// Who tried, where the layer knows it.
    pub pid: Option<u32>,
    /// The program that tried, where the layer knows it.
    pub exe: Option<String>,
    /// How often.
    pub count: u64,
    /// What would allow it.
    pub grant: Option<Grant>,
    /// What to think of before granting it, or why nothing grants it.
    pub note: Option<String>,
}
