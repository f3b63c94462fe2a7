//! The hidden half of the executable: what it does when an attack starts it again.

use crate::answer::Answer;
use crate::attack::Control;
use crate::attacks;
use crate::field::Field;
use crate::run::on_stage;
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
        [HIDDEN_ARGUMENT, "stage", engine, id, payload, root] => {
            say(&on_stage(engine, id, Path::new(payload), Path::new(root)));
            Some(ExitCode::SUCCESS)
        }
        [HIDDEN_ARGUMENT, "victim", argument] => Some(victim(argument)),
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
    let answer = match (attacks::find(id), Field::from_text(field)) {
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
