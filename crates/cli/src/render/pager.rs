//! A pager around a long listing: `$PAGER`, else `less`, only on a terminal.
//!
//! What it gets is what the terminal would get: text in which polder made every control character visible, with colours of
//! polder's own.

use super::text::tolerate_closed;
use polder_sys::wait::Signals;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

/// SIGINT and SIGQUIT (signal(7)): keys by which a user stops a search of the pager, and not polder.
const KEYS: [i32; 2] = [2, 3];

/// The pager of a user who names none.
const DEFAULT: &str = "less";

/// Whether a pager may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paging {
    Allowed,
    Never,
}

impl Paging {
    /// For a verb with these two flags: JSON is for programs.
    pub(crate) const fn of(no_pager: bool, json: bool) -> Self {
        if no_pager || json { Self::Never } else { Self::Allowed }
    }
}

/// Lines on their way to a reader.
pub(crate) struct Listing {
    pager: Option<Child>,
    /// The reader went away: a user who quits a pager has seen enough.
    closed: bool,
}

impl Listing {
    /// To the pager, where there is one and stdout is a terminal; else to stdout.
    pub(crate) fn begin(paging: Paging) -> Self {
        let pager = if paging == Paging::Allowed && io::stdout().is_terminal() { start() } else { None };
        Self { pager, closed: false }
    }

    /// One line, or several.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let pipe = self.pager.as_mut().and_then(|pager| pager.stdin.as_mut());
        let written = match pipe {
            Some(pipe) => writeln!(pipe, "{text}"),
            None => writeln!(io::stdout().lock(), "{text}"),
        };
        self.closed = written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        tolerate_closed(written)
    }

    /// Waits until the user has read it. What is told afterwards stands below the listing.
    pub(crate) fn end(mut self) -> io::Result<()> {
        if let Some(pager) = &mut self.pager {
            drop(pager.stdin.take());
            let status = pager.wait()?;
            // What a shell says of a command that is not there, or is no program (sh(1posix)): nothing was shown.
            if matches!(status.code(), Some(126 | 127)) {
                return Err(io::Error::other("the pager that PAGER names cannot be started; --no-pager goes without"));
            }
        }
        Ok(())
    }
}

/// The pager; none where the user said so with an empty variable or `cat`, or where there is none.
fn start() -> Option<Child> {
    let asked = match std::env::var("PAGER") {
        Ok(asked) => asked,
        Err(_) => DEFAULT.to_owned(),
    };
    if matches!(asked.trim(), "" | "cat") || (asked == DEFAULT && !is_on_path(DEFAULT)) {
        return None;
    }
    let mut command = Command::new("/bin/sh");
    // As git does (git-config(1), core.pager): text that fits is left on the screen, and colours pass.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    // For this thread alone: a program that it starts has them again.
    let _blocked = Signals::watch(&KEYS).ok()?;
    command.args(["-c", &asked]).stdin(Stdio::piped()).spawn().ok()
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}
