//! What an engine gets to start with, and what it gives back.

use crate::Lookout;
use crate::session::Session;
use polder_facts::{HostPath, LimitKind, Violation};
use polder_sys::Terminal;
use std::any::Any;
use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// What surrounds a run.
pub struct Services<'a> {
    /// Standard input, output and error of the command. Pipes or `/dev/null`: never a descriptor
    /// through which the command could do more than read and write.
    pub stdio: [OwnedFd; 3],
    /// A terminal of the sandbox's own, in the place of some of the three.
    pub terminal: Option<Terminal>,
    /// What an engine does that can make no terminal.
    pub no_terminal: NoTerminal,
    /// What an engine began before the plan was known, perhaps another engine.
    pub ahead: Option<HeadStart>,
    /// What the workspace will be made of, where it is not the real tree.
    pub layers: Option<Promised<'a>>,
    /// Who is told while the sandbox is made ready.
    pub lookout: &'a mut dyn Lookout,
    /// What the run shares with others, where it is one of several.
    pub session: Option<Session>,
    /// The record of what the run sets aside: held open until nothing of the sandbox is left. The
    /// shim empties it when it has set everything aside without the caller.
    pub record: Option<OwnedFd>,
}

/// What happens where an engine can make no terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTerminal {
    /// The command gets the pipes: its streams are not terminals.
    UsePipes,
    /// The launch fails: the caller asked for a terminal.
    Refuse,
}

/// Layers that are there as soon as somebody asks for them. That takes a while, which an engine can use that has others to
/// wait for.
pub struct Promised<'a> {
    /// Where they will be.
    pub layers: Layers,
    /// Makes them. Gives what is held open until nothing of the sandbox is left, whoever ends before: their lock. It is not
    /// the command's.
    pub make: &'a mut dyn FnMut() -> Result<OwnedFd, LaunchError>,
}

/// Layers that are there, and their lock.
#[derive(Debug)]
pub struct Made {
    /// Where they are.
    pub layers: Layers,
    /// Held open until nothing of the sandbox is left.
    pub kept: OwnedFd,
}

impl Promised<'_> {
    /// Makes them now.
    pub fn made(self) -> Result<Made, LaunchError> {
        let kept = (self.make)()?;
        Ok(Made { layers: self.layers, kept })
    }
}

/// What a workspace is made of whose changes are kept apart. Paths without symbolic links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// What lies below and is only read, the uppermost first; the real tree is the last.
    pub lower: Vec<HostPath>,
    /// A directory that only its owner reaches, with [`Layers::UPPER`] and [`Layers::WORK`] in it.
    pub own: HostPath,
}

impl Layers {
    /// Where changes go.
    pub const UPPER: &str = "upper";
    /// Empty when a run begins; the kernel's.
    pub const WORK: &str = "work";
}

/// Something that an engine began before the plan was known. It permits nothing and binds nobody: an engine that does
/// not find its own work in it, or cannot use it for this plan, drops it, and dropping ends it.
pub struct HeadStart(Box<dyn Any + Send>);

impl HeadStart {
    /// Wraps what was begun.
    pub fn new(begun: impl Any + Send) -> Self {
        Self(Box::new(begun))
    }

    /// The work, if it is of this kind.
    pub fn claim<T: Any>(self) -> Option<T> {
        self.0.downcast().ok().map(|begun| *begun)
    }
}

impl fmt::Debug for HeadStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeadStart")
    }
}

/// A command that runs in a sandbox. Dropping it ends everything inside.
pub trait Running: Send {
    /// Readable when a report waits.
    fn reports(&self) -> BorrowedFd<'_>;

    /// Readable when the command has ended, where an engine knows that before the report comes; the report is then only
    /// moments away.
    fn ending(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Waits for the next report.
    fn report(&mut self) -> Report;

    /// The caller's side of the terminal, once.
    fn take_terminal(&mut self) -> Option<OwnedFd>;

    /// Sends a signal to the command's process group.
    fn signal(&self, signal: i32);

    /// Ends everything inside, now.
    fn kill(&self);

    /// Whether no process inside can change a file any more, though the sandbox may not be gone yet.
    fn is_quiet(&self) -> bool {
        false
    }

    /// The private copies of git's configuration that the command had, for what is taken over at the end.
    fn take_git_copies(&mut self) -> Option<OwnedFd> {
        None
    }

    /// Waits until nothing of the sandbox is left, and says which limits were reached.
    fn finish(self: Box<Self>, parting: Parting) -> Finished;
}

/// How far the caller waits when a command has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// Until the kernel has taken the sandbox apart.
    Wait,
    /// Until every process of the command is gone. For a caller that ends right away: the rest is the kernel's own work,
    /// and nobody has to watch it. An engine that has something to remove waits all the same.
    Leave,
}

/// What a sandbox reports while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// Something failed inside; a violation only if the sandbox was the reason.
    Denied(Option<Violation>),
    /// The command ended.
    Ended(Ended),
    /// The sandbox vanished.
    Lost,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The exit code, if it exited.
    pub code: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// CPU time of everything that was waited for.
    pub cpu: Duration,
    /// The largest resident set of one process.
    pub peak_rss_bytes: u64,
}

/// What is known when nothing of the sandbox is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// A limit that was reached on the way.
    pub limit: Option<LimitKind>,
    /// What was found when everything inside was gone.
    pub violations: Vec<Violation>,
    /// What could not be removed or put back, for people.
    pub warnings: Vec<String>,
}

/// Why a command did not start. Whatever had been built is gone again.
#[derive(Debug)]
pub struct LaunchError {
    /// What kind of failure it is.
    pub failure: LaunchFailure,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// The kinds of failure.
#[derive(Debug)]
pub enum LaunchFailure {
    /// There is no such command in the sandbox.
    NotFound,
    /// It is there and cannot be executed.
    NotExecutable(std::io::Error),
    /// Somebody asked for the end of the run by this signal before the command had started.
    Interrupted(i32),
    /// The sandbox could not be built; the error names the step, the call and the kernel's answer.
    Setup(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.failure {
            LaunchFailure::NotFound => f.write_str("command not found in the sandbox")?,
            LaunchFailure::NotExecutable(error) => write!(f, "cannot execute: {error}")?,
            LaunchFailure::Interrupted(signal) => {
                write!(f, "interrupted by signal {signal} before the command started")?
            }
            LaunchFailure::Setup(error) => {
                write!(f, "{error}")?;
                let mut cause = error.source();
                while let Some(inner) = cause {
                    write!(f, ": {inner}")?;
                    cause = inner.source();
                }
            }
        }
        if let Some(remedy) = &self.remedy {
            write!(f, "\n  remedy: {remedy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for LaunchError {}
