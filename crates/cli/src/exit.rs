//! How polder ends when the command did not: one clear message on stderr, and 125.

use crate::args::Cli;
use crate::put::{Own, put};
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

/// Polder could not do its part.
pub(crate) const FAILED: u8 = 125;

/// Why a verb failed, as the user reads it.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            let inner_text = inner.to_string();
            // A transparent wrapper repeats what it wraps.
            if !text.contains(&inner_text) {
                text.push_str(": ");
                text.push_str(&inner_text);
            }
            cause = inner.source();
        }
        Self(text)
    }
}

/// Says why, in polder's voice.
pub(crate) fn failed(failure: &Failure) -> ExitCode {
    // Faults and remedies have lines of their own. None of them begins as a message of polder's does.
    let lines = printable(&failure.0).replace("\npolder:", "\n  polder:");
    // Best effort: stderr may be closed, or its reader may not read.
    let _ = put(Own::Stderr, format!("polder: {lines}\n").as_bytes());
    ExitCode::from(FAILED)
}

/// One message of polder's own, on one line. Nobody listening is not an error.
pub(crate) fn say(message: &str) {
    let _ = put(Own::Stderr, format!("polder: {}\n", on_one_line(message)).as_bytes());
}

/// The same while a command runs, whose terminal may be raw: there a line ends where the next one begins only if both
/// are said.
pub(crate) fn say_amid(message: &str) {
    let (before, after) = if io::stderr().is_terminal() { ("\r", "\r\n") } else { ("", "\n") };
    let _ = put(Own::Stderr, format!("{before}polder: {}{after}", on_one_line(message)).as_bytes());
}

/// The same as [`printable`], on one line: what a command chose must not begin a line that polder seems to say.
pub(crate) fn on_one_line(text: &str) -> String {
    printable(text).replace('\n', "\\n")
}

/// Text from a configuration file, a command or a kernel, with everything made visible that a terminal would obey or hide.
pub(crate) fn printable(text: &str) -> String {
    let plain = |c: char| c == '\n' || polder_workspace::is_plain(c);
    let visible = |c: char| if plain(c) { c.to_string() } else { c.escape_default().to_string() };
    text.chars().map(visible).collect()
}

/// Help goes to stdout with 0; a wrong call is polder's failure, never the command's.
pub(crate) fn usage(mut error: clap::Error, line: &[OsString]) -> ExitCode {
    suggest_verb(&mut error, line);
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS }
}

/// Names the nearest verb where the parser knows of none: it compares letters in their order, and two that are swapped in
/// a short verb are too far apart for it.
fn suggest_verb(error: &mut clap::Error, line: &[OsString]) {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else { return };
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return;
    }
    let table = Cli::command();
    let verbs = line.iter().skip(1).filter_map(|word| word.to_str()).take_while(|word| word != wrong);
    let at = verbs.fold(&table, |command, word| command.find_subcommand(word).unwrap_or(command));
    let known = at.get_subcommands().filter(|verb| !verb.is_hide_set()).map(clap::Command::get_name);
    if let Some(near) = polder_policy::nearest_name(wrong, known) {
        let near = ContextValue::Strings(vec![near.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, near);
    }
}
