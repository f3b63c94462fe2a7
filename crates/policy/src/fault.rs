//! What is wrong with a configuration: every fault at once, each with its place and, where there is one, its remedy.

use polder_facts::Origin;
use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it was said.
    pub origin: Origin,
    /// What is wrong with it.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault without a remedy.
    pub fn new(origin: Origin, message: impl Into<String>) -> Self {
        Self { origin, message: message.into(), hint: None }
    }

    /// The same fault with a remedy.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same fault with a remedy if there is one.
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, message, hint } = self;
        let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        f.write_str(&printable(&format!("{origin}: {message}{hint}")))
    }
}

/// Every fault of a configuration, in the order of files and lines. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// The value if nothing is wrong, else everything that is.
    pub(crate) fn check<T>(value: T, faults: Vec<Fault>) -> Result<T, Self> {
        if faults.is_empty() { Ok(value) } else { Err(Self(faults)) }
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// A line from a file that may be hostile, with nothing in it that a terminal would obey.
pub(crate) fn printable(text: &str) -> String {
    // Beside control characters also the marks that turn the direction of a line around.
    let turns = |c: char| matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if c.is_control() || turns(c) { '\u{fffd}' } else { c }).collect()
}

/// The longest word for which a known one is looked up; the cost grows with the product of both lengths.
const NEAREST_BYTES_MAX: usize = 64;

/// `did you mean …?` for a word that is close to one of the known ones.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest_name(word, known).map(|name| format!("did you mean `{name}`?"))
}

/// The known word that is close to this one, if one is.
pub fn nearest_name<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > NEAREST_BYTES_MAX {
        return None;
    }
    let score = |name: &str| strsim::normalized_damerau_levenshtein(&word.to_lowercase(), &name.to_lowercase());
    known
        .into_iter()
        .map(|name| (score(name), name))
        // Below this the words have little in common, and a wrong suggestion is worse than none.
        .filter(|(score, _)| *score >= 0.55)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, name)| name)
}

/// What to write instead of a name that is not defined: the nearest one, and all there are.
pub fn defined(word: &str, names: &[&str]) -> String {
    if names.is_empty() {
        return "none is defined".to_owned();
    }
    let list = format!("defined are {}", names.join(", "));
    nearest(word, names.iter().copied()).map_or(list.clone(), |near| format!("{near} {list}"))
}

#[cfg(test)]
mod tests;
