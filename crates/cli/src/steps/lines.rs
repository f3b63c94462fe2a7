//! Where lines go: what a step writes to the same stream of ours, what polder says to stderr; on GitHub all to stdout, in
//! groups, with the step's own words kept from being commands.

use super::{github, summary};
use crate::exit::{on_one_line, printable};
use crate::render::paint::Paint;
use polder::{Output, StepResult};
use polder_sys::terminal;
use std::io::{self, Write};
use std::os::fd::AsFd;

pub(super) struct Lines {
    github: bool,
    terminal: bool,
    /// Whether the cursor stands at the beginning of a line.
    at_start: bool,
    /// Whether the last line is the status, to be overwritten.
    status_shown: bool,
    status: String,
    /// What ends the part of the log in which the runner obeys nobody.
    token: Option<String>,
}

impl Lines {
    pub(super) fn new(github: bool) -> Self {
        let terminal = !github && terminal::is_terminal(io::stderr().as_fd());
        Self { github, terminal, at_start: true, status_shown: false, status: String::new(), token: None }
    }

    fn clear_status(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.status_shown, false) {
            self.status.clear();
            return io::stderr().lock().write_all(b"\r\x1b[K");
        }
        Ok(())
    }

    /// The beginning of a step.
    pub(super) fn begin(&mut self, heading: &str) -> io::Result<()> {
        self.clear_status()?;
        self.fresh_line()?;
        let heading = on_one_line(heading);
        if self.github {
            let token = github::token()?;
            let mut out = io::stdout().lock();
            writeln!(out, "::group::{}\n::stop-commands::{token}", github::data(&heading))?;
            self.token = Some(token);
            return out.flush();
        }
        writeln!(io::stderr().lock(), "== {heading}")
    }

    /// What the step wrote.
    pub(super) fn output(&mut self, stream: Output, bytes: &[u8]) -> io::Result<()> {
        let Some(last) = bytes.last() else { return Ok(()) };
        self.clear_status()?;
        self.at_start = *last == b'\n';
        match stream {
            Output::Stderr if !self.github => io::stderr().lock().write_all(bytes),
            Output::Stdout | Output::Stderr => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
        }
    }

    /// The end of a step.
    pub(super) fn end(&mut self, result: &StepResult) -> io::Result<()> {
        self.clear_status()?;
        self.fresh_line()?;
        let in_group = self.resume()?;
        let plain = |text: &str| printable(text).replace('\n', "\n   ");
        let status = summary::painted(&result.status, 0, self.paint());
        let ending = format!("{} {status}{}", plain(&result.name), plain(&summary::ending(result)));
        if self.github {
            let mut out = io::stdout().lock();
            if in_group {
                writeln!(out, "::endgroup::")?;
            }
            writeln!(out, "{}", github::harmless(&ending))?;
            return out.flush();
        }
        writeln!(io::stderr().lock(), "== {ending}")
    }

    /// One message of polder's own about a step.
    pub(super) fn say(&mut self, message: &str) -> io::Result<()> {
        self.say_bare(&format!("polder: {message}"))
    }

    /// The table at the end.
    pub(super) fn table(&mut self, results: &[StepResult]) -> io::Result<()> {
        summary::table(results, self.paint()).iter().try_for_each(|line| self.say_safe(line))
    }

    /// A runner's log is no terminal.
    fn paint(&self) -> Paint {
        if self.github { Paint::Plain } else { Paint::of(&io::stderr()) }
    }

    /// A line without polder's name in front.
    fn say_bare(&mut self, line: &str) -> io::Result<()> {
        self.say_safe(&on_one_line(line))
    }

    /// The same for a line in which nothing but polder speaks to the terminal.
    fn say_safe(&mut self, line: &str) -> io::Result<()> {
        self.clear_status()?;
        self.fresh_line()?;
        if self.github {
            return writeln!(io::stdout().lock(), "{}", github::harmless(line));
        }
        writeln!(io::stderr().lock(), "{line}")
    }

    /// A mark for a step that did not pass.
    pub(super) fn annotate(&mut self, result: &StepResult) -> io::Result<()> {
        if !self.github {
            return Ok(());
        }
        writeln!(io::stdout().lock(), "{}", github::annotation(result))
    }

    /// What runs now; only on a terminal, and only where it disturbs nothing.
    pub(super) fn status(&mut self, text: &str) -> io::Result<()> {
        if !self.terminal || !self.at_start || text == self.status {
            return Ok(());
        }
        // A terminal that does not know its size says 0.
        let known = terminal::size(io::stderr().as_fd()).map(|size| usize::from(size.columns));
        let columns = known.ok().filter(|columns| *columns > 0).unwrap_or(80);
        let short: String = on_one_line(text).chars().take(columns.saturating_sub(1)).collect();
        self.status_shown = true;
        text.clone_into(&mut self.status);
        let mut out = io::stderr().lock();
        write!(out, "\r\x1b[K{short}")?;
        out.flush()
    }

    fn fresh_line(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.at_start, true) {
            return Ok(());
        }
        if self.github { io::stdout().lock().write_all(b"\n") } else { io::stderr().lock().write_all(b"\n") }
    }

    /// The runner listens again; says whether it had stopped to.
    fn resume(&mut self) -> io::Result<bool> {
        match self.token.take() {
            Some(token) => writeln!(io::stdout().lock(), "::{token}::").map(|()| true),
            None => Ok(false),
        }
    }
}
