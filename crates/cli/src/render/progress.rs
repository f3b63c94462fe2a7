//! What is made ready before a command, as one line of a terminal that is written over and gone before the command writes.
//! Where nobody watches there is no line.

use crate::exit::on_one_line;
use crate::put::{Own, put};
use polder::Progress;
use polder_sys::terminal;
use std::io;
use std::os::fd::AsFd;

/// The width of a terminal that does not say.
const COLUMNS: usize = 80;

/// The line.
pub(crate) struct ProgressLine {
    terminal: bool,
    shown: bool,
}

impl ProgressLine {
    /// On stderr, if that is a terminal.
    pub(crate) fn new() -> Self {
        Self { terminal: terminal::is_terminal(io::stderr().as_fd()), shown: false }
    }

    pub(crate) fn show(&mut self, progress: &Progress) -> io::Result<()> {
        if !self.terminal {
            return Ok(());
        }
        if progress.done {
            return self.clear();
        }
        self.shown = true;
        // A terminal that does not know its size says 0.
        let known = terminal::size(io::stderr().as_fd()).map(|size| usize::from(size.columns));
        let columns = known.ok().filter(|columns| *columns > 0).unwrap_or(COLUMNS);
        // A line that is as wide as the terminal goes on in the next one, which nobody clears.
        let line = fitted(&on_one_line(&format!("polder: {}", line(progress))), columns.saturating_sub(1));
        put(Own::Stderr, format!("\r{line}\x1b[K").as_bytes())
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.shown, false) {
            return put(Own::Stderr, b"\r\x1b[K");
        }
        Ok(())
    }
}

/// What, how far, how much.
pub(crate) fn line(progress: &Progress) -> String {
    let Progress { what, text, current_bytes, total_bytes, done: _ } = progress;
    let amount = match (current_bytes, total_bytes) {
        (Some(current), Some(total)) => format!(" ({} of {})", megabytes(*current), megabytes(*total)),
        (Some(current), None) => format!(" ({})", megabytes(*current)),
        (None, _) => String::new(),
    };
    if text.is_empty() { format!("{what}{amount}") } else { format!("{what}: {text}{amount}") }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn fitted(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns { text.to_owned() } else { text.chars().take(columns).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_and_how_much() {
        let told = |current_bytes, total_bytes| {
            let (what, text) = ("pull busybox".to_owned(), "1 of 2 parts".to_owned());
            line(&Progress { what, text, current_bytes, total_bytes, done: false })
        };
        assert_eq!(told(None, None), "pull busybox: 1 of 2 parts");
        assert_eq!(told(Some(1_500_000), Some(20_000_000)), "pull busybox: 1 of 2 parts (1.5 MB of 20.0 MB)");
        assert_eq!(fitted("äbcdef", 3), "äbc");
    }
}
