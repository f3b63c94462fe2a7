//! Where lines go: what a step writes to the same stream of ours, what polder says to stderr; on GitHub all to stdout, in
//! groups, with the step's own words kept from being commands.

use super::{github, summary};
use crate::exit::{on_one_line, printable};
use crate::put::{Own, put};
use crate::render::paint::Paint;
use polder::{Output, StepResult};
use polder_sys::terminal;
use std::io;
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
            return put(Own::Stderr, b"\r\x1b[K");
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
            let text = format!("::group::{}\n::stop-commands::{token}\n", github::data(&heading));
            self.token = Some(token);
            return put(Own::Stdout, text.as_bytes());
        }
        put(Own::Stderr, format!("== {heading}\n").as_bytes())
    }

    /// What the step wrote.
    pub(super) fn output(&mut self, stream: Output, bytes: &[u8]) -> io::Result<()> {
        let Some(last) = bytes.last() else { return Ok(()) };
        self.clear_status()?;
        self.at_start = *last == b'\n';
        match stream {
            Output::Stderr if !self.github => put(Own::Stderr, bytes),
            Output::Stdout | Output::Stderr => put(Own::Stdout, bytes),
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
            let close = if in_group { "::endgroup::\n" } else { "" };
            return put(Own::Stdout, format!("{close}{}\n", github::harmless(&ending)).as_bytes());
        }
        put(Own::Stderr, format!("== {ending}\n").as_bytes())
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
            return put(Own::Stdout, format!("{}\n", github::harmless(line)).as_bytes());
        }
        put(Own::Stderr, format!("{line}\n").as_bytes())
    }

    /// A mark for a step that did not pass.
    pub(super) fn annotate(&mut self, result: &StepResult) -> io::Result<()> {
        if !self.github {
            return Ok(());
        }
        put(Own::Stdout, format!("{}\n", github::annotation(result)).as_bytes())
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
        put(Own::Stderr, format!("\r\x1b[K{short}").as_bytes())
    }

    fn fresh_line(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.at_start, true) {
            return Ok(());
        }
        put(if self.github { Own::Stdout } else { Own::Stderr }, b"\n")
    }

    /// The runner listens again; says whether it had stopped to.
    fn resume(&mut self) -> io::Result<bool> {
        match self.token.take() {
            Some(token) => put(Own::Stdout, format!("::{token}::\n").as_bytes()).map(|()| true),
            None => Ok(false),
        }
    }
}
