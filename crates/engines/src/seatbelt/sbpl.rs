//! The profile language, as far as it is needed: a Scheme in which the last rule that matches wins. Pure.
//!
//! Paths come from users and repositories. They reach a profile only through [`quoted`] and [`any_case`], so that none
//! can end its string and speak for itself.

use std::fmt;
use std::path::{Path, PathBuf};

/// A path that cannot be written in a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unspeakable(PathBuf);

impl fmt::Display for Unspeakable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` has bytes that a profile cannot name", self.0.display())
    }
}

/// A path as a string of the profile.
pub(super) fn quoted(path: &Path) -> Result<String, Unspeakable> {
    let text = path.to_str().ok_or_else(|| Unspeakable(path.to_owned()))?;
    string(text).ok_or_else(|| Unspeakable(path.to_owned()))
}

/// A string: the two characters that mean something in it are escaped, and so are line breaks and tabs. Other control
/// characters have no spelling that every version of the reader understands alike.
fn string(text: &str) -> Option<String> {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => return None,
            c => out.push(c),
        }
    }
    out.push('"');
    Some(out)
}

/// The path and everything below it.
pub(super) fn below(path: &Path) -> Result<String, Unspeakable> {
    Ok(format!("(subpath {})", quoted(path)?))
}

/// The path alone.
pub(super) fn only(path: &Path) -> Result<String, Unspeakable> {
    Ok(format!("(literal {})", quoted(path)?))
}

/// A name in a directory and everything below it, however its letters are written: on this file system `.GIT` and
/// `.git` are one name, and what does not exist yet has no spelling of its own.
pub(super) fn any_case(directory: &Path, name: &str) -> Result<String, Unspeakable> {
    pattern(directory, "/", name)
}

/// The same in every directory below this one.
pub(super) fn any_case_anywhere(directory: &Path, name: &str) -> Result<String, Unspeakable> {
    pattern(directory, "/(.*/)?", name)
}

fn pattern(directory: &Path, between: &str, name: &str) -> Result<String, Unspeakable> {
    let unspeakable = || Unspeakable(directory.join(name));
    let directory = directory.to_str().ok_or_else(unspeakable)?;
    let mut regex = String::from("^");
    directory.chars().for_each(|c| push_literal(&mut regex, c));
    regex.push_str(between);
    for c in name.chars() {
        let (lower, upper) = (c.to_lowercase().collect::<String>(), c.to_uppercase().collect::<String>());
        if lower == upper {
            push_literal(&mut regex, c);
        } else if c.is_ascii() {
            regex.push_str(&format!("[{lower}{upper}]"));
        } else {
            // The matcher works on bytes, where a letter of several bytes is no class.
            regex.push_str(&format!("({lower}|{upper})"));
        }
    }
    regex.push_str("(/.*)?$");
    Ok(format!("(regex {})", string(&regex).ok_or_else(unspeakable)?))
}

/// A character that stands for itself in a pattern.
fn push_literal(regex: &mut String, c: char) {
    if "\\^$.|?*+()[]{}".contains(c) {
        regex.push('\\');
    }
    regex.push(c);
}

#[cfg(test)]
pub(super) mod tests;
