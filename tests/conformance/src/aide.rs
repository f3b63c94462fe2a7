//! The test program as another process: for what cannot be tried on oneself.

use crate::scene::{missing, sandbox_in};
use polder::{Sandbox, Streams};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The argument that makes the test program an aide.
pub(crate) const FLAG: &str = "--aide";

/// A call of the test program that runs a command in a sandbox with its own streams and environment.
pub(crate) fn command(engine: &str, directory: &Path, command: &[&str]) -> Command {
    let mut aide = Command::new(std::env::current_exe().expect("a path of our own"));
    aide.arg(FLAG).arg(engine).arg(directory).args(command);
    aide
}

/// The same in a named workspace whose changes are kept apart.
pub(crate) fn command_in(engine: &str, directory: &Path, workspace: &str, arguments: &[&str]) -> Command {
    let mut aide = command(engine, directory, arguments);
    aide.env(WORKSPACE, workspace);
    aide
}

/// The variable that names an aide's workspace.
pub(crate) const WORKSPACE: &str = "POLDER_TEST_WORKSPACE";

/// The life of an aide.
pub(crate) fn live(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut next = || arguments.next().expect("an argument");
    let (engine, directory) = (next().into_string().expect("text"), next());
    let command: Vec<OsString> = arguments.collect();
    let sandbox = sandbox_in(&engine, Path::new(&directory));
    // What the engine does not keep is accepted here as in the scene.
    let missing = missing(&sandbox.plan(["true"]).expect("a plan"));
    let sandbox = missing.into_iter().fold(sandbox, Sandbox::accept);
    let sandbox = match std::env::var(WORKSPACE) {
        Ok(name) => sandbox.workspace(name),
        Err(_) => sandbox,
    };
    let planned = sandbox.plan(command).expect("a plan");
    let duplicate = |fd: std::os::fd::BorrowedFd<'_>| polder_sys::wait::duplicate(fd).expect("a descriptor");
    let streams = Streams::Relayed {
        stdin: duplicate(std::io::stdin().as_fd()),
        stdout: duplicate(std::io::stdout().as_fd()),
        stderr: duplicate(std::io::stderr().as_fd()),
    };
    let outcome = planned.run_with(streams, &mut |_| ()).expect("a run");
    ExitCode::from(u8::try_from(outcome.exit_code()).expect("a code"))
}
