//! What the attacks on polder's own end share: a process that runs the sandbox and is killed.

use crate::attacks::beat;
use crate::field::Field;
use crate::hidden::HIDDEN_ARGUMENT;
use crate::stage::Stage;
use polder::{Ending, Error, Finished, Outcome, Sandbox, Usage};
use std::ffi::OsString;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long the attempt needs to get going, once its heart beats.
const HEAD_START: Duration = Duration::from_millis(1000);

/// Stays, so that only a kill ends the run.
pub(super) fn linger(field: &Field) {
    if !field.is_control() {
        std::thread::sleep(Duration::from_secs(3));
    }
}

/// Lets another process run the sandbox and kills that process.
pub(super) fn run_and_kill(
    stage: &Stage,
    _: Option<File>,
    sandbox: Sandbox,
    command: Vec<OsString>,
) -> Result<Finished, Error> {
    // The plan shows which engine this is about; the other process makes its own.
    let planned = sandbox.plan(command.clone())?;
    let engine = match planned.report() {
        polder::Report::Fits { fit, .. } => fit.engine,
        polder::Report::Refused(_) => "",
    };
    let mut launcher = Command::new(&stage.payload);
    launcher.args([HIDDEN_ARGUMENT, "launch", engine]).arg(&stage.workspace).arg(&stage.payload).args(&command);
    launcher.env_clear().envs(&stage.environment).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = polder_sys::attempt::die_with_starter(&mut launcher).spawn();
    if let Ok(mut launcher) = started {
        beat::await_first(stage);
        std::thread::sleep(HEAD_START);
        let _ = launcher.kill();
        let _ = launcher.wait();
    }
    // A moment for the kernel to end the rest.
    std::thread::sleep(Duration::from_millis(200));
    let outcome = Outcome { ending: Ending::Lost, limit: None, usage: Usage::default(), violations: 0 };
    Ok(Finished { outcome, stdout: Vec::new(), stderr: Vec::new(), events: Vec::new() })
}
