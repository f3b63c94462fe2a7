//! The hidden half of the executable: what it does when an attack starts it again.

use crate::answer::Answer;
use crate::attack::{self, Control};
use crate::field::Field;
use crate::run::{on_stage, sandbox};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// The first argument that means: this is a part of an attack.
pub const HIDDEN_ARGUMENT: &str = "__attack";

/// Does what the hidden arguments ask for, if there are any. To be called first in `main`.
pub fn hidden() -> Option<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let texts: Vec<&str> = arguments.iter().map(|argument| argument.to_str().unwrap_or_default()).collect();
    match texts.as_slice() {
        [HIDDEN_ARGUMENT, "attempt", id, field] => Some(attempt(id, field)),
        [HIDDEN_ARGUMENT, "stage", engine, id, payload, root, observe] => {
            say(&on_stage(engine, id, Path::new(payload), Path::new(root), observe));
            Some(ExitCode::SUCCESS)
        }
        [HIDDEN_ARGUMENT, "victim", argument] => Some(victim(argument)),
        [HIDDEN_ARGUMENT, "launch", engine, workspace, payload, ..] => {
            Some(launch(engine, Path::new(workspace), Path::new(payload), &arguments[5..]))
        }
        [HIDDEN_ARGUMENT, ..] => Some(ExitCode::FAILURE),
        _ => None,
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever asked and went away does not need the answer.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn attempt(id: &str, field: &str) -> ExitCode {
    let answer = match (attack::find(id), Field::from_text(field)) {
        (Some(attack), Some(field)) => {
            let prepared = if field.is_control() && attack.control == Control::NamespaceRoot {
                polder_sys::attempt::become_namespace_root(libc::CLONE_NEWNS)
            } else {
                Ok(())
            };
            match prepared {
                Ok(()) => (attack.attempt)(&field),
                Err(error) => Answer::Lacking(format!("the control needs a user namespace: {error}")),
            }
        }
        _ => Answer::Broken(format!("no attack `{id}`, or no field")),
    };
    say(&answer.to_line());
    ExitCode::SUCCESS
}

/// What a victim holds in its memory.
pub(crate) static VICTIM_SECRET: &[u8] = b"the secret in the memory of a host process";

/// A process that says where its secret is and waits to be found.
fn victim(argument: &str) -> ExitCode {
    let address = polder_sys::attempt::address_of(VICTIM_SECRET);
    if !argument.is_empty() {
        // Read by the bait, so that the attempt knows where to look.
        let _ = std::fs::write(argument, address.to_string());
    }
    say("!");
    loop {
        std::thread::sleep(std::time::Duration::from_secs(3600));
    }
}

/// Runs an attempt in a sandbox, to be killed while it does.
fn launch(engine: &str, workspace: &Path, payload: &Path, command: &[OsString]) -> ExitCode {
    let run = sandbox(engine, workspace, payload, std::env::vars_os().collect()).plan(command);
    match run.and_then(polder::Planned::run) {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
