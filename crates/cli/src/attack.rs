//! `polder doctor --attack`: every engine that works here, attacked in every way that polder knows.

use crate::exit::{Failure, say};
use crate::render::paint::{Paint, Tone};
use crate::render::text;
use polder::Availability;
use polder_attack::{Outcome, Verdict};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Prints one line per engine and attack; 1 when a sandbox did not hold or an attack could not be made.
pub(crate) fn attack(only: Option<&str>, as_json: bool) -> Result<u8, Failure> {
    let payload = std::env::current_exe()?;
    let mut count = Count::default();
    let paint = Paint::of(&io::stdout());
    let mut broken_pipe = None;
    let mut unavailable = Vec::new();
    for (engine, availability) in polder_attack::available_engines()? {
        if let Availability::Unavailable { .. } = availability {
            unavailable.push(engine);
            continue;
        }
        polder_attack::run_all(&engine, only, &payload, &mut |verdict| {
            count.add(&verdict.outcome);
            let line = if as_json { to_json(&verdict).to_string() } else { to_text(&verdict, paint) };
            let printed = writeln!(io::stdout().lock(), "{line}");
            broken_pipe = text::tolerate_closed(printed).err().or(broken_pipe.take());
        });
    }
    if !unavailable.is_empty() && !as_json {
        say(&format!("not attacked, because they do not work here: {}", unavailable.join(", ")));
    }
    if let Some(error) = broken_pipe {
        return Err(error.into());
    }
    if count == Count::default() {
        return Err(Failure::new(only.map_or_else(
            || "no engine works here, so there is nothing to attack".to_owned(),
            |text| format!("no attack has `{text}` in its number or name, or no engine works here"),
        )));
    }
    let summary = if as_json { count.to_json().to_string() } else { count.to_text() };
    text::tolerate_closed(writeln!(io::stdout().lock(), "{summary}"))?;
    Ok(u8::from(count.escaped + count.broken > 0))
}

/// How often which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    held: usize,
    escaped: usize,
    not_applicable: usize,
    broken: usize,
}

impl Count {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Held(_) => self.held += 1,
            Outcome::Escaped(_) => self.escaped += 1,
            Outcome::NotApplicable(_) => self.not_applicable += 1,
            Outcome::Broken(_) => self.broken += 1,
        }
    }

    fn to_text(self) -> String {
        let Self { held, escaped, not_applicable, broken } = self;
        format!("\n{held} held, {escaped} escaped, {not_applicable} not applicable, {broken} broken")
    }

    fn to_json(self) -> Value {
        let Self { held, escaped, not_applicable, broken } = self;
        json!({"type": "summary", "held": held, "escaped": escaped, "notApplicable": not_applicable, "broken": broken})
    }
}

fn to_text(verdict: &Verdict, paint: Paint) -> String {
    let Verdict { engine, id, name, holds, outcome, took: _ } = verdict;
    let head = format!("{engine:<12}{id:<7}{name:<62}");
    let detail = crate::exit::printable(outcome.detail());
    match outcome {
        Outcome::Held(_) => format!("{head}{}", paint.wrap(Tone::Good, "held")),
        Outcome::Escaped(_) | Outcome::Broken(_) => {
            let word = paint.wrap(Tone::Bad, outcome.word());
            format!("{head}{word}\n{:<19}must hold: {holds}\n{:<19}{detail}", "", "")
        }
        Outcome::NotApplicable(_) => format!("{head}not applicable: {detail}"),
    }
}

fn to_json(verdict: &Verdict) -> Value {
    let Verdict { engine, id, name, holds, outcome, took } = verdict;
    let word = match outcome {
        Outcome::Held(_) => "held",
        Outcome::Escaped(_) => "escaped",
        Outcome::NotApplicable(_) => "not-applicable",
        Outcome::Broken(_) => "broken",
    };
    json!({
        "type": "attack",
        "engine": engine,
        "id": id,
        "name": name,
        "holds": holds,
        "verdict": word,
        "detail": outcome.detail(),
        "tookMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })
}
