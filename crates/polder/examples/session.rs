//! A session as an agent has it: commands come in one by one, each is run in the same sandbox, and its outcome goes back.
//!
//! `session DIRECTORY` works on a directory with the sandbox that its configuration names. Each line of the input is a
//! command; for each there is a line with its exit code and how long it took, and what it wrote goes to standard error.

use polder::{Error, Sandbox};
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    // An engine may start this very program inside of what it makes; nothing comes before this line.
    polder::become_shim_if_asked();
    let Some(directory) = std::env::args_os().nth(1) else {
        let _ = writeln!(io::stderr(), "session DIRECTORY");
        return ExitCode::FAILURE;
    };
    match serve(&Sandbox::in_directory(directory).with_configuration()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "session: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(sandbox: &Sandbox) -> Result<(), Box<dyn std::error::Error>> {
    let session = sandbox.session()?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let begun = Instant::now();
        let finished = session.run(line.split_whitespace()).map_err(whole)?;
        io::stderr().write_all(&[finished.stdout, finished.stderr].concat())?;
        let mut out = io::stdout().lock();
        writeln!(out, "{} {} µs", finished.outcome.exit_code(), begun.elapsed().as_micros())?;
        out.flush()?;
    }
    // Dropping it would do the same.
    session.end();
    Ok(())
}

/// An error with its causes.
fn whole(error: Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
