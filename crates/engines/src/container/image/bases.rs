//! The images that a build begins with or takes files from, as its recipe names them. Pure.
//!
//! They decide about the result as much as the files do. A name that cannot be read for certain is kept as it is written,
//! so that whoever wants none to be fetched can refuse it.

use super::recipe::{Instruction, instructions};
use std::collections::BTreeMap;

/// What stands for no image at all.
const NOTHING: &str = "scratch";

/// An image that a recipe names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Base {
    /// As it is written.
    pub(super) written: String,
    /// What that means; absent where it depends on what only the daemon knows.
    pub(super) name: Option<String>,
    /// The platform that is asked for, as it is written.
    pub(super) platform: Option<String>,
}

/// Every image that a recipe names, in its order, without the stages of its own.
pub(super) fn bases(text: &str) -> Vec<Base> {
    let mut reading = Reading::default();
    for Instruction { word, rest, .. } in instructions(text) {
        match word.as_str() {
            "ARG" if reading.stages.is_empty() => reading.note_arguments(&rest),
            "FROM" => reading.note_from(&rest),
            "COPY" | "ADD" | "RUN" => reading.note_sources(&rest),
            _ => {}
        }
    }
    reading.found
}

#[derive(Default)]
struct Reading {
    /// What an `ARG` before the first `FROM` sets: the only variables that a `FROM` knows. Absent where it is not certain.
    arguments: BTreeMap<String, Option<String>>,
    /// The stages so far, by their names in small letters; one without a name has only its number.
    stages: Vec<Option<String>>,
    found: Vec<Base>,
}

impl Reading {
    fn note_arguments(&mut self, rest: &str) {
        for (name, value) in rest.split_whitespace().filter_map(|word| word.split_once('=')) {
            let value = self.expanded(value);
            self.arguments.insert(name.to_owned(), value);
        }
    }

    fn note_from(&mut self, rest: &str) {
        let (flags, words) = flags(rest);
        let platform = flags.iter().find_map(|flag| flag.strip_prefix("--platform=")).map(str::to_owned);
        if let Some(written) = words.first() {
            let name = self.expanded(written);
            self.note(written, name, platform);
        }
        let named = words.get(1).is_some_and(|word| word.eq_ignore_ascii_case("as"));
        self.stages.push(words.get(2).filter(|_| named).map(|name| name.to_ascii_lowercase()));
    }

    /// Other images that files come from: `COPY --from=NAME`, `RUN --mount=from=NAME,…`.
    fn note_sources(&mut self, rest: &str) {
        for flag in flags(rest).0 {
            let source = match flag.strip_prefix("--mount=") {
                Some(mount) => mount.split(',').find_map(|part| part.strip_prefix("from=")),
                None => flag.strip_prefix("--from="),
            };
            if let Some(source) = source {
                // Daemons differ in whether a variable counts here.
                let name = (!source.contains('$')).then(|| self.expanded(source)).flatten();
                self.note(source, name, None);
            }
        }
    }

    fn note(&mut self, written: &str, name: Option<String>, platform: Option<String>) {
        let base = Base { written: written.to_owned(), name, platform };
        let is_own = base.name.as_deref().is_some_and(|name| name == NOTHING || self.is_stage(name));
        if !is_own && !self.found.contains(&base) {
            self.found.push(base);
        }
    }

    fn is_stage(&self, name: &str) -> bool {
        let numbered = name.parse::<usize>().is_ok_and(|number| number < self.stages.len());
        numbered || self.stages.iter().flatten().any(|stage| stage.eq_ignore_ascii_case(name))
    }

    /// A text with its variables filled in: `$NAME`, `${NAME}` and `${NAME:-otherwise}`. Nothing where that is not certain.
    fn expanded(&self, text: &str) -> Option<String> {
        let mut rest = unquoted(text);
        let mut whole = String::new();
        while let Some((before, after)) = rest.split_once('$') {
            whole.push_str(before);
            let value;
            (value, rest) = self.variable(after)?;
            whole.push_str(&value);
        }
        whole.push_str(rest);
        let plain = !whole.is_empty() && !whole.contains(['\\', '"', '\'', '$', '{', '}']);
        plain.then_some(whole)
    }

    /// The value of a variable whose name begins here, and what follows it.
    fn variable<'a>(&self, text: &'a str) -> Option<(String, &'a str)> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let Some(inner) = text.strip_prefix('{') else {
            let (name, rest) = text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()));
            return Some((self.arguments.get(name)?.clone()?, rest));
        };
        let (inner, rest) = inner.split_once('}')?;
        let (name, otherwise) = inner.split_once(":-").map_or((inner, None), |(name, word)| (name, Some(word)));
        let value = match (self.arguments.get(name), otherwise) {
            (Some(value), _) => value.clone()?,
            (None, Some(word)) => word.to_owned(),
            (None, None) => return None,
        };
        Some((value, rest))
    }
}

/// The flags that an instruction begins with, and the words after them.
fn flags(rest: &str) -> (Vec<&str>, Vec<&str>) {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let count = words.iter().take_while(|word| word.starts_with("--")).count();
    (words[..count].to_vec(), words[count..].to_vec())
}

fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests;
