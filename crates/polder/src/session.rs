//! Many commands in one sandbox.

use crate::config::Said;
use crate::error::Error;
use crate::planned::{Finished, Planned};
use crate::sandbox::Sandbox;
use polder_run::Session as Shared;
use std::ffi::OsString;

/// Many commands in one sandbox, one after the other or at the same time, from any thread.
///
/// Every command has walls of its own, as it has without a session: none sees the processes, the streams, the variables or
/// the private files of another. What is costly to make is made by the first and used by all: with an engine that makes
/// containers there is one container, which goes with the session. With `scope: run` in the configuration each command
/// has its own.
///
/// ```
/// use polder::Sandbox;
///
/// # fn main() -> Result<(), polder::Error> {
/// # polder::become_shim_if_asked();
/// # let directory = std::env::temp_dir().join(format!("polder-session-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory).unwrap();
/// let session = Sandbox::in_directory(&directory).timeout("10s").session()?;
/// assert!(session.run(["sh", "-c", "echo built >result"])?.outcome.success());
/// assert!(!session.run(["false"])?.outcome.success()); // which ends nothing but itself
/// assert_eq!(session.run(["cat", "result"])?.stdout, b"built\n");
///
/// // One more variable, for one command.
/// let finished = session.env("GREETING=hello").run(["sh", "-c", "echo $GREETING"])?;
/// assert_eq!(finished.stdout, b"hello\n");
/// session.end();
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Session {
    sandbox: Sandbox,
    said: Said,
    shared: Shared,
}

impl Session {
    pub(crate) fn new(sandbox: Sandbox, said: Said) -> Self {
        Self { sandbox, said, shared: Shared::new() }
    }

    /// The same session, with one more variable: `NAME` passes it on, `NAME=value` sets it.
    pub fn env(&self, variable: impl Into<String>) -> Self {
        let mut same = self.clone();
        same.said.layers.overrides.env.push(variable.into());
        same
    }

    /// The same session, with another time from start to end, such as `10m`.
    pub fn timeout(&self, span: impl Into<String>) -> Self {
        let mut same = self.clone();
        same.said.layers.overrides.timeout = Some(span.into());
        same
    }

    /// Decides everything about a run of this command, and starts nothing.
    pub fn plan(&self, command: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Planned, Error> {
        let command: Vec<OsString> = command.into_iter().map(Into::into).collect();
        let planned = self.sandbox.plan_by(&self.said, &command)?;
        Ok(planned.in_session(self.shared.clone()))
    }

    /// Runs a command with no input and collects its output.
    pub fn run(&self, command: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Finished, Error> {
        self.plan(command)?.run()
    }

    /// Ends the session, as dropping it does: what it shared is gone when this returns, or, where a command still runs or
    /// a copy of the session is left, with the last of them. Gives what could not be removed, for people.
    pub fn end(self) -> Vec<String> {
        let words = self.shared.words();
        drop(self);
        words.take()
    }
}
