//! Finding the program, trying it, and calling it. Thin: everything was decided before.

use super::PROGRAM;
use super::lower::{Lowered, lower, trial_arguments};
use crate::shimmed::{Call, Program, find, launch_by, setup, trial, tried};
use polder_engine::{Availability, Fitted, LaunchError, Running, Services};
use polder_facts::HostFacts;
use std::ffi::CString;
use std::os::fd::AsFd;

/// The shim, the program, and its own first process inside.
const BESIDE: u64 = 3;

/// It looks for each of its mounts at the end of the list, and gives up where somebody mounts something meanwhile.
const DISTURBED: &str = "last mount name:";

fn remedy() -> String {
    "`sudo apt-get install firejail`, or use engine `native`".to_owned()
}

pub(super) fn probe(host: &HostFacts) -> Availability {
    match find(PROGRAM, host, None) {
        Ok(program) => {
            let detail = program.path.display().to_string();
            tried(detail, trial(&call(program, trial_arguments())), remedy)
        }
        Err(reason) => Availability::Unavailable { reason, remedy: remedy() },
    }
}

pub(super) fn launch(fitted: &Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
    let Services { stdio, terminal, no_terminal: _, ahead: _, layers, lookout: _, session: _, record } = services;
    let failed = |text: String, remedy| setup(std::io::Error::other(text), remedy);
    // It cannot lay one layer over another; such a plan does not come to this.
    if layers.is_some() {
        return Err(failed("layers were prepared for an engine that cannot lay them".to_owned(), None));
    }
    let Lowered { arguments, inside } = lower(fitted, terminal).map_err(|error| failed(error.to_string(), None))?;
    let program = find(PROGRAM, fitted.host(), Some(fitted.plan())).map_err(|reason| failed(reason, Some(remedy())))?;
    launch_by(&call(program, arguments), fitted, &inside, &stdio, record.as_ref().map(AsFd::as_fd), BESIDE)
}

fn call(program: Program, arguments: Vec<CString>) -> Call {
    Call { program, arguments, added: Vec::new(), staging: None, passing: &[DISTURBED], tidies: true }
}
