//! What a recipe would do, as far as a build could reach further than the policy. Pure.
//!
//! The steps of a build have no network where the policy has none. But the daemon itself fetches what `ADD` names, and a
//! step may ask for a network of its own; so these are refused, and what cannot be read for certain is refused with them.

use super::ImageError;
use std::path::PathBuf;

/// Where a recipe is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a file, with its whole path.
    File(PathBuf),
    /// In the configuration.
    Inline(String),
}

/// The longest recipe.
pub(super) const RECIPE_BYTES_MAX: u64 = 1024 * 1024;

/// An instruction, with the line on which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    line: usize,
    /// In capitals.
    pub(super) word: String,
    pub(super) rest: String,
}

/// Whether the recipe begins an image at all.
pub(super) fn has_from(text: &str) -> bool {
    instructions(text).iter().any(|instruction| instruction.word == "FROM")
}

/// Refuses what reaches a network.
pub(super) fn reaches_nothing(text: &str) -> Result<(), ImageError> {
    for instruction in instructions(text) {
        let Instruction { line, mut word, mut rest } = instruction;
        // What runs in a later build is that build's; in this one it does nothing.
        if word == "ONBUILD" {
            let inner = rest.trim_start();
            let (first, after) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
            (word, rest) = (first.to_ascii_uppercase(), after.to_owned());
        }
        let refuse = |what| Err(ImageError::Reaches { line, what });
        match word.as_str() {
            "ADD" if rest.contains("://") || rest.contains("git@") => {
                return refuse("ADD fetches from the network, which the policy does not allow");
            }
            "ADD" if rest.contains('$') => {
                return refuse("ADD with a variable may fetch from the network, which the policy does not allow");
            }
            "RUN" if rest.contains("--network") || rest.contains("--security") => {
                return refuse("RUN asks for a network or a privilege of its own");
            }
            _ => {}
        }
    }
    Ok(())
}

/// The instructions of a recipe: lines that end with the escape character go on.
pub(super) fn instructions(text: &str) -> Vec<Instruction> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let escape = escape(text);
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        // Comments and empty lines do not end an instruction that goes on.
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let (begin, mut whole) = open.take().unwrap_or((number + 1, String::new()));
        match trimmed.strip_suffix(escape) {
            Some(part) => {
                // Joined without a space, as daemons do: a word may be cut in two.
                whole.push_str(part);
                open = Some((begin, whole));
            }
            None => {
                whole.push_str(trimmed);
                found.push(instruction(begin, &whole));
            }
        }
    }
    found.extend(open.map(|(begin, whole)| instruction(begin, &whole)));
    found
}

fn instruction(line: usize, text: &str) -> Instruction {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Instruction { line, word: word.to_ascii_uppercase(), rest: rest.trim().to_owned() }
}

/// The character that lets a line go on: a comment before the first instruction may choose the other one.
fn escape(text: &str) -> char {
    for line in text.lines() {
        let Some(comment) = line.trim().strip_prefix('#') else { break };
        let Some((key, value)) = comment.split_once('=') else { break };
        if key.trim().eq_ignore_ascii_case("escape") {
            return value.trim().chars().next().filter(|c| *c == '`').unwrap_or('\\');
        }
    }
    '\\'
}

#[cfg(test)]
mod tests;
