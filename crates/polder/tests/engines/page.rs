//! `docs/engines.md`: written by `cargo xtask generate`, and compared here.

use crate::machine::{Caller, whole};
use polder::{About, Engine, Fit, Guarantee, Verdict, reference};
use std::fmt::Write;
use std::path::PathBuf;

const OPENING: &str = "\
# Engines

<!-- Written by `cargo xtask generate`. The engines say all of this themselves; a test says when it is stale. -->

An engine is what enforces a policy. `engine: auto` takes the first that works here and keeps every rule of the policy,
never one of class `none`; an engine asked for by name is never replaced. What is not kept in full stops the run,
unless the policy accepts it by name (`--accept GUARANTEE`); what is required (`--require GUARANTEE`) cannot be
accepted away. `polder doctor` shows the same table for the machine at hand.

";

const KEEPS: &str = "
## What each keeps

The built-in policy with every limit set, on a machine on which everything works: for an ordinary user, and for root
where that differs.

| guarantee |";

/// A file of the project, also when the tests run from a copy of it.
fn committed() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    own.join("../../docs/engines.md")
}

#[test]
fn engines_page_is_up_to_date() {
    let path = committed();
    let fresh = page();
    if std::env::var_os("POLDER_TEST_BLESS").is_some() {
        std::fs::write(&path, fresh).expect("docs/engines.md");
        return;
    }
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(fresh == old, "docs/engines.md is stale: cargo xtask generate");
}

/// One way in which an engine is called: its name, and its answer to the reference plan.
struct Column {
    heading: String,
    fit: Fit,
}

/// Reasons, numbered as they come.
struct Notes(Vec<String>);

impl Notes {
    fn number(&mut self, text: String) -> usize {
        match self.0.iter().position(|known| *known == text) {
            Some(index) => index + 1,
            None => {
                self.0.push(text);
                self.0.len()
            }
        }
    }
}

fn page() -> String {
    let engines = polder::engines();
    let speaks = |engine: &&dyn Engine| columns(*engine).iter().any(|column| !column.fit.verdicts.is_empty());
    let (ours, reserved): (Vec<&dyn Engine>, Vec<&dyn Engine>) =
        engines.iter().map(|engine| engine.as_ref()).partition(speaks);
    let mut text = OPENING.to_owned();
    text.push_str("| engine | class | what it is | platform | how to get it |\n|---|---|---|---|---|\n");
    for engine in &ours {
        let About { summary, platform, install } = engine.about();
        let (names, class) = (names(*engine), engine.class().name());
        let _ = writeln!(text, "| {names} | {class} | {summary} | {platform} | {install} |");
    }
    text.push_str(&matrix(&ours));
    text.push_str("\n## How\n");
    for engine in &ours {
        text.push_str(&how(*engine));
    }
    if !reserved.is_empty() {
        text.push_str(
            "\n## Names without an engine\n\nA configuration may use these; a run that asks for one is refused.\n\n",
        );
        for engine in reserved {
            let _ = writeln!(text, "- {} ({})", names(engine), engine.class().name());
        }
    }
    text
}

fn names(engine: &dyn Engine) -> String {
    let mut names = format!("`{}`", engine.id());
    for alias in engine.aliases() {
        let _ = write!(names, ", `{alias}`");
    }
    names
}

/// One column where it does not matter who calls, else two.
fn columns(engine: &dyn Engine) -> Vec<Column> {
    let fit = |caller| {
        let host = whole(caller);
        engine.fit_at_home(&reference(engine.world(), &host), &host)
    };
    let (user, root) = (fit(Caller::User), fit(Caller::Root));
    if user == root {
        return vec![Column { heading: engine.id().to_owned(), fit: user }];
    }
    let by_root = format!("{} (root)", engine.id());
    vec![Column { heading: engine.id().to_owned(), fit: user }, Column { heading: by_root, fit: root }]
}

/// Every engine, every guarantee; why not, below.
fn matrix(engines: &[&dyn Engine]) -> String {
    // Who calls gets a column of its own only where the table would show a difference.
    let columns: Vec<Column> = engines
        .iter()
        .flat_map(|engine| {
            let mut columns = columns(*engine);
            if columns.len() == 2 && marks(&columns[0].fit) == marks(&columns[1].fit) {
                columns.truncate(1);
            }
            columns
        })
        .collect();
    let mut text = KEEPS.to_owned();
    for column in &columns {
        let _ = write!(text, " {} |", column.heading);
    }
    let _ = write!(text, "\n|---|{}\n", "---|".repeat(columns.len()));
    let mut notes = Notes(Vec::new());
    for guarantee in Guarantee::ALL {
        let _ = write!(text, "| `{guarantee}` |");
        for column in &columns {
            let _ = write!(text, " {} |", cell(column.fit.verdicts.get(&guarantee), &mut notes));
        }
        text.push('\n');
    }
    text.push('\n');
    for (index, note) in notes.0.iter().enumerate() {
        let _ = writeln!(text, "[^{}]: {note}", index + 1);
    }
    text
}

fn marks(fit: &Fit) -> Vec<&'static str> {
    fit.verdicts.values().map(mark).collect()
}

fn mark(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Enforced { .. } => "yes",
        Verdict::Weaker { .. } => "weaker",
        Verdict::Cannot { .. } => "no",
    }
}

fn cell(verdict: Option<&Verdict>, notes: &mut Notes) -> String {
    let Some(verdict) = verdict else { return "–".to_owned() };
    match verdict {
        Verdict::Enforced { .. } => mark(verdict).to_owned(),
        Verdict::Weaker { gap, .. } | Verdict::Cannot { gap } => {
            let remedy = gap.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
            format!("{}[^{}]", mark(verdict), notes.number(format!("{}{remedy}", gap.reason)))
        }
    }
}

/// By what an engine keeps what it keeps.
fn how(engine: &dyn Engine) -> String {
    let columns = columns(engine);
    let mut text = format!("\n### {}\n\n| guarantee |", engine.id());
    text.push_str(if columns.len() == 2 {
        " for an ordinary user | for root |\n|---|---|---|\n"
    } else {
        " |\n|---|---|\n"
    });
    for guarantee in Guarantee::ALL {
        let verdicts: Vec<_> = columns.iter().filter_map(|column| column.fit.verdicts.get(&guarantee)).collect();
        let _ = write!(text, "| `{guarantee}` |");
        for (index, verdict) in verdicts.iter().enumerate() {
            let said = match verdict {
                Verdict::Enforced { by } => by.clone(),
                Verdict::Weaker { by, gap } => format!("weaker: {by}, but {}", gap.reason),
                Verdict::Cannot { gap } => format!("no: {}", gap.reason),
            };
            let same = index > 0 && verdicts[0] == *verdict;
            let _ = write!(text, " {} |", if same { "the same" } else { &said });
        }
        text.push('\n');
    }
    text
}
