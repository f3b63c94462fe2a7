//! What each engine keeps, guarantee by guarantee, as a table of at most a hundred columns.

use super::paint::{Paint, Tone};
use polder::{Guarantee, Surveyed, Verdict};
use std::fmt::Write;

/// The width of the text below the table.
const COLUMNS_MAX: usize = 100;
/// The width of the engine's column.
const ENGINE_COLUMNS: usize = 12;

/// What stands in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Yes,
    Weak,
    No,
    /// The engine does not work here, or has nothing to say.
    Absent,
}

impl Mark {
    fn of(engine: &Surveyed, guarantee: Guarantee) -> Self {
        if engine.unavailable().is_some() {
            return Self::Absent;
        }
        match engine.fit.verdicts.get(&guarantee) {
            Some(Verdict::Enforced { .. }) => Self::Yes,
            Some(Verdict::Weaker { .. }) => Self::Weak,
            Some(Verdict::Cannot { .. }) => Self::No,
            None => Self::Absent,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Weak => "weak",
            Self::No => "no",
            Self::Absent => "-",
        }
    }

    fn painted(self, columns: usize, paint: Paint) -> String {
        let tone = match self {
            Self::Yes => Tone::Good,
            Self::Weak => Tone::Doubtful,
            Self::No => Tone::Bad,
            Self::Absent => Tone::Faint,
        };
        paint.wrap(tone, &format!("{:<columns$}", self.word()))
    }
}

/// A name that leaves room for the other fifteen.
const fn heading(guarantee: Guarantee) -> &'static str {
    match guarantee {
        Guarantee::Fs => "fs",
        Guarantee::Protect => "prot",
        Guarantee::SecondLayer => "2nd",
        Guarantee::Net => "net",
        Guarantee::Ipc => "ipc",
        Guarantee::Processes => "procs",
        Guarantee::Privileges => "privs",
        Guarantee::Syscalls => "calls",
        Guarantee::Env => "env",
        Guarantee::Memory => "mem",
        Guarantee::Cpus => "cpus",
        Guarantee::Pids => "pids",
        Guarantee::Files => "files",
        Guarantee::Disk => "disk",
        Guarantee::Output => "out",
        Guarantee::Timeout => "time",
    }
}

fn columns(guarantee: Guarantee) -> usize {
    heading(guarantee).len().max(Mark::Weak.word().len()) + 1
}

/// The table, what its words mean, and one line for each reason why something is not kept.
pub(crate) fn lines(engines: &[Surveyed], paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    let mut head = format!("{:<ENGINE_COLUMNS$}", "KEEPS");
    for guarantee in Guarantee::ALL {
        let _ = write!(head, "{:<1$}", heading(guarantee), columns(guarantee));
    }
    lines.push(head.trim_end().to_owned());
    for engine in engines {
        let mut line = format!("{:<ENGINE_COLUMNS$}", engine.id);
        for guarantee in Guarantee::ALL {
            line.push_str(&Mark::of(engine, guarantee).painted(columns(guarantee), paint));
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.push("yes enforced, weak in part, no not at all, - the engine does not work here".to_owned());
    let short = Guarantee::ALL.into_iter().filter(|guarantee| heading(*guarantee) != guarantee.name());
    let short: Vec<String> = short.map(|guarantee| format!("{} {guarantee}", heading(guarantee))).collect();
    lines.extend(wrapped(&short.join(", "), 0));
    let mut told = engines.iter().filter(|engine| engine.unavailable().is_none()).flat_map(reasons).peekable();
    if told.peek().is_some() {
        lines.push(String::new());
        lines.push("NOT KEPT IN FULL".to_owned());
        lines.extend(told.flat_map(|reason| wrapped(&reason, 2)));
    }
    lines
}

/// Every reason why an engine that works does not keep something, with the guarantees that share it.
fn reasons(engine: &Surveyed) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&'static str>)> = Vec::new();
    for (guarantee, verdict) in &engine.fit.verdicts {
        let (what, gap) = match verdict {
            Verdict::Enforced { .. } => continue,
            Verdict::Weaker { by, gap } => (format!("weak, {by}, but {}", gap.reason), gap),
            Verdict::Cannot { gap } => (format!("no, {}", gap.reason), gap),
        };
        let remedy = gap.remedy.as_ref().map(|remedy| format!("; remedy: {remedy}")).unwrap_or_default();
        let text = format!("{what}{remedy}");
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(guarantee.name()),
            None => groups.push((text, vec![guarantee.name()])),
        }
    }
    let verdicts = groups.into_iter().map(|(text, names)| format!("{}: {}: {text}", engine.id, names.join(", ")));
    let impossible = engine.fit.impossible.iter().map(|gap| format!("{}: {}", engine.id, gap.reason));
    verdicts.chain(impossible).collect()
}

/// A text in lines of bounded width, all but the first indented. A word is never broken.
fn wrapped(text: &str, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= COLUMNS_MAX => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{:indent$}{word}", "")),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests;
