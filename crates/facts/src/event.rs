//! What happens during a run, in order.

use crate::{Guarantee, LimitKind, Outcome, Violation};
use std::fmt;
use std::time::SystemTime;

/// The name of one run, unique on this machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One thing that happened, with its place in the order of its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The run it belongs to.
    pub run: RunId,
    /// Its place in the run, from 1, without holes.
    pub seq: u64,
    /// When.
    pub time: SystemTime,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// The engine was chosen and begins.
    Starting {
        /// The engine's id.
        engine: String,
        /// Why this one.
        reason: String,
    },
    /// Something that takes a while is made ready before the command can start.
    Progress(Progress),
    /// The command runs.
    Ready,
    /// The command wrote something.
    Output(Output, Vec<u8>),
    /// An action was denied.
    Violation(Violation),
    /// A limit was reached.
    Limit(LimitKind),
    /// A guarantee is kept in a weaker way than asked, because the policy accepts that.
    Downgrade {
        /// Which one.
        guarantee: Guarantee,
        /// Why it is weaker.
        reason: String,
    },
    /// Something went wrong that no wall of the sandbox depends on, and that somebody may have to see to.
    Warning(String),
    /// What a run left in a workspace whose changes are kept apart.
    Changes {
        /// The workspace.
        workspace: String,
        /// Whether it holds any.
        changed: bool,
        /// Whether it is still there.
        kept: bool,
    },
    /// The command ended.
    Exit(Outcome),
    /// The sandbox is gone, and nothing of it is left.
    Stopped,
}

/// How far something is that takes a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is made ready, such as `pull busybox`.
    pub what: String,
    /// What happens at this moment, fit for a terminal.
    pub text: String,
    /// How much is there, where that is known.
    pub current_bytes: Option<u64>,
    /// How much it will be, as far as is known so far.
    pub total_bytes: Option<u64>,
    /// Whether this was the last word about it. It comes before the command can write anything.
    pub done: bool,
}

/// One of the command's two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}
