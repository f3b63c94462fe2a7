//! `.dockerignore`: what of the workspace a build does not get. Pure.
//!
//! A line is a pattern for paths from the root of the workspace. `*` and `?` stay within a part, `**` stands for any number
//! of parts, `[…]` is a class, `\` takes the next character as it is, `!` takes back. What lies below a match matches; the
//! last line that matches decides.

/// The list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ignore {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// Whether it takes back.
    keeps: bool,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// `**`
    Any,
    /// A pattern for one part.
    One(Vec<Piece>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// `*`
    Star,
    /// `?`
    Single,
    Exact(u8),
    Class {
        negated: bool,
        ranges: Vec<(u8, u8)>,
    },
}

/// Why a line is no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) what: &'static str,
}

/// The most patterns.
const RULES_MAX: usize = 10_000;

impl Ignore {
    /// Reads a list.
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rules = Vec::new();
        for (number, line) in text.lines().enumerate() {
            // A comment begins at the first column; spaces around a pattern are not part of it.
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let fault = |what| Fault { line: number + 1, what };
            if rules.len() == RULES_MAX {
                return Err(fault("there are too many patterns"));
            }
            rules.push(rule(line.trim()).map_err(fault)?);
        }
        Ok(Self { rules })
    }

    /// Whether a build does not get what is at this path.
    pub(super) fn leaves_out(&self, path: &[u8]) -> bool {
        let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let decides = self.rules.iter().rev().find(|rule| matches(&rule.parts, &parts));
        decides.is_some_and(|rule| !rule.keeps)
    }

    /// Whether something below a directory may be taken back, so that it has to be looked into.
    pub(super) fn may_keep_below(&self) -> bool {
        self.rules.iter().any(|rule| rule.keeps)
    }
}

fn rule(text: &str) -> Result<Rule, &'static str> {
    let (keeps, text) = match text.strip_prefix('!') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    };
    let mut parts = Vec::new();
    for part in text.split('/') {
        match part {
            // A leading, trailing or double slash means nothing.
            "" | "." => {}
            ".." => drop(parts.pop()),
            "**" => parts.push(Part::Any),
            part => parts.push(Part::One(pieces(part.as_bytes())?)),
        }
    }
    if parts.is_empty() && keeps && text.is_empty() {
        return Err("`!` stands alone");
    }
    Ok(Rule { keeps, parts })
}

fn pieces(mut text: &[u8]) -> Result<Vec<Piece>, &'static str> {
    let mut pieces = Vec::new();
    while let [first, rest @ ..] = text {
        text = rest;
        pieces.push(match first {
            // Several in a part say no more than one.
            b'*' if pieces.last() == Some(&Piece::Star) => continue,
            b'*' => Piece::Star,
            b'?' => Piece::Single,
            b'\\' => {
                let [taken, rest @ ..] = text else { return Err("`\\` at the end takes nothing") };
                text = rest;
                Piece::Exact(*taken)
            }
            b'[' => {
                let (class, rest) = class(text)?;
                text = rest;
                class
            }
            other => Piece::Exact(*other),
        });
    }
    Ok(pieces)
}

fn class(mut text: &[u8]) -> Result<(Piece, &[u8]), &'static str> {
    const OPEN: &str = "`[` is never closed";
    let negated = text.first() == Some(&b'^');
    if negated {
        text = &text[1..];
    }
    let mut ranges = Vec::new();
    let one = |text: &mut &[u8]| -> Result<u8, &'static str> {
        let (first, rest) = text.split_first().ok_or(OPEN)?;
        *text = rest;
        if *first != b'\\' {
            return Ok(*first);
        }
        let (taken, rest) = text.split_first().ok_or(OPEN)?;
        *text = rest;
        Ok(*taken)
    };
    loop {
        if text.first() == Some(&b']') && !ranges.is_empty() {
            return Ok((Piece::Class { negated, ranges }, &text[1..]));
        }
        let low = one(&mut text)?;
        let high = if text.first() == Some(&b'-') && text.get(1) != Some(&b']') {
            text = &text[1..];
            one(&mut text)?
        } else {
            low
        };
        ranges.push((low, high));
    }
}

/// Whether a pattern is these parts, or a parent of them. By rows, so that no pattern takes longer than its size times theirs.
fn matches(pattern: &[Part], path: &[&[u8]]) -> bool {
    // `row[n]`: the pattern so far is the first n parts.
    let mut row: Vec<bool> = (0..=path.len()).map(|count| count == 0).collect();
    for part in pattern {
        let mut next = vec![false; path.len() + 1];
        match part {
            Part::Any => {
                let mut before = false;
                for (count, reached) in row.iter().enumerate() {
                    before |= reached;
                    next[count] = before;
                }
            }
            Part::One(pieces) => {
                for (count, text) in path.iter().enumerate() {
                    next[count + 1] = row[count] && part_matches(pieces, text);
                }
            }
        }
        row = next;
    }
    row[1..].contains(&true)
}

fn part_matches(pieces: &[Piece], text: &[u8]) -> bool {
    let mut row: Vec<bool> = (0..=text.len()).map(|count| count == 0).collect();
    for piece in pieces {
        let mut next = vec![false; text.len() + 1];
        let mut before = false;
        for count in 0..=text.len() {
            before |= row[count];
            next[count] = match piece {
                Piece::Star => before,
                Piece::Single => count > 0 && row[count - 1],
                Piece::Exact(byte) => count > 0 && row[count - 1] && text[count - 1] == *byte,
                Piece::Class { negated, ranges } => {
                    count > 0
                        && row[count - 1]
                        && ranges.iter().any(|(low, high)| (low..=high).contains(&&text[count - 1])) != *negated
                }
            };
        }
        row = next;
    }
    row[text.len()]
}

#[cfg(test)]
mod tests;
