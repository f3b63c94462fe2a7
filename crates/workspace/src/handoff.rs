//! What the host would execute later, by itself: such changes are held back until somebody takes them by name.
//!
//! The line is drawn at "by itself". A source file, a Makefile or a Dockerfile runs when somebody asks for it, and is what was
//! asked for. A git hook, an editor's task, a lifecycle script or an agent's instructions run while somebody does something
//! else: opens the directory, asks for the status, installs dependencies. Those are here.
//!
//! Names are compared as the least careful file system and tool would: letters of any case, with the spellings by which
//! Windows and macOS reach the same file.

mod contents;
mod git;
mod links;
mod notes;
mod rules;
mod spelling;

use crate::relative::Relative;
pub(crate) use links::leads_out;
pub(crate) use notes::noted;
use rules::{At, RULES, Rule, When};

/// What is known about a changed path. Contents are absent where there is none, or where it is too large to look at.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Where.
    pub path: &'a Relative,
    /// Whether a symbolic link comes there: it can stand for a whole directory elsewhere.
    pub link: bool,
    /// The old content.
    pub before: Content<'a>,
    /// The new content.
    pub after: Content<'a>,
}

/// What is known about a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// There is no file.
    Absent,
    /// It was not looked at: too large, no regular file, or unreadable.
    Unknown,
    /// All of it.
    Known(&'a [u8]),
}

/// Why a change is held back, if it is.
pub fn held_back(seen: Seen<'_>) -> Option<&'static str> {
    let parts: Vec<String> = seen.path.components().map(spelling::plain).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    if let Some(why) = git::git(&parts) {
        return Some(why);
    }
    RULES.iter().find(|rule| applies(rule, &parts, seen)).map(|rule| rule.why)
}

/// Whether a rule needs to know the contents of this path.
pub(crate) fn wants_content(path: &Relative) -> bool {
    let parts: Vec<String> = path.components().map(spelling::plain).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    RULES.iter().any(|rule| matches!(rule.when, When::Content(_)) && is_at(&rule.at, &parts, false))
}

fn applies(rule: &Rule, parts: &[&str], seen: Seen<'_>) -> bool {
    is_at(&rule.at, parts, seen.link)
        && match rule.when {
            When::Always => true,
            When::Content(differs) => match (seen.before, seen.after) {
                (Content::Unknown, _) | (_, Content::Unknown) => true,
                (before, after) => differs(bytes(before), bytes(after)),
            },
        }
}

fn bytes(content: Content<'_>) -> Option<&[u8]> {
    match content {
        Content::Known(bytes) => Some(bytes),
        Content::Absent | Content::Unknown => None,
    }
}

fn is_at(at: &At, parts: &[&str], link: bool) -> bool {
    let name = parts.last().copied().unwrap_or_default();
    match at {
        At::Name(wanted) => name == *wanted,
        At::Start(directories, start) => {
            let above = parts.split_last().map(|(_, above)| above).unwrap_or_default();
            name.starts_with(start) && above.ends_with(directories)
        }
        At::End(end) => name.ends_with(end),
        At::Below(directories) => {
            let below = parts.len() > directories.len()
                && parts[..parts.len() - 1].windows(directories.len()).any(|w| w == directories);
            below || (link && leads_into(directories, parts))
        }
        // The directory's own entry, where it is a link or a file: it can stand for a whole directory elsewhere.
        At::In(directory) => parts.contains(directory),
        At::Path(path) => parts.ends_with(path) || (link && leads_into(path, parts)),
    }
}

/// Whether a link at this path stands for one of these directories, and with it for what is looked for below them.
fn leads_into(directories: &[&str], parts: &[&str]) -> bool {
    (1..=directories.len()).any(|number| parts.ends_with(&directories[..number]))
}

#[cfg(test)]
mod tests;
