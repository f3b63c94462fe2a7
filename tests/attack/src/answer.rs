//! What an attempt says about itself, and how results of calls become such an answer.

use crate::field::Field;
use std::io;

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The bait was reached: how.
    Reached(String),
    /// Something kept the attempt from it: what.
    Blocked(String),
    /// The attempt itself went wrong, which shows nothing.
    Broken(String),
    /// This machine or this caller does not have what the attempt needs.
    Lacking(String),
}

/// Refused by rights.
pub(crate) const DENIED: &[i32] = &[libc::EPERM, libc::EACCES];
/// Not in view, or refused by rights.
pub(crate) const HIDDEN: &[i32] = &[libc::ENOENT, libc::EPERM, libc::EACCES];
/// Refused by rights, or because the call does not exist.
pub(crate) const NO_CALL: &[i32] = &[libc::EPERM, libc::EACCES, libc::ENOSYS];
/// No such process in view, or refused by rights.
pub(crate) const NO_PROCESS: &[i32] = &[libc::ESRCH, libc::EPERM, libc::EACCES, libc::ENOENT];
/// Refused by rights, or because the mount is read-only.
pub(crate) const READ_ONLY: &[i32] = &[libc::EROFS, libc::EPERM, libc::EACCES];
/// Refused by rights, because it is a mount of its own, or because it is read-only.
pub(crate) const PINNED: &[i32] = &[libc::EBUSY, libc::EROFS, libc::EPERM, libc::EACCES, libc::EXDEV];

impl Answer {
    /// Reached when the call worked; blocked when it failed with one of these errors; else the attempt is broken.
    pub(crate) fn of<T>(what: &str, result: io::Result<T>, blocked: &[i32]) -> Self {
        match result {
            Ok(_) => Self::Reached(what.to_owned()),
            Err(error) => Self::of_error(what, &error, blocked),
        }
    }

    /// The same for a call that is known to have failed.
    pub(crate) fn of_error(what: &str, error: &io::Error, blocked: &[i32]) -> Self {
        let text = format!("{what}: {error}");
        match error.raw_os_error() {
            Some(number) if blocked.contains(&number) => Self::Blocked(text),
            _ => Self::Broken(text),
        }
    }

    /// Several ways to the same bait. Inside, all must be blocked and the first that is not decides; in the control all
    /// must reach it, so that each way is proved, or all must be blocked, so that none is possible here.
    pub(crate) fn all(field: &Field, answers: impl IntoIterator<Item = Self>) -> Self {
        let (mut reached, mut blocked): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for answer in answers {
            match answer {
                Self::Blocked(detail) => blocked.push(detail),
                Self::Reached(detail) if field.is_control() => reached.push(detail),
                other => return other,
            }
        }
        match (reached.len(), blocked.len()) {
            (0, 0) => Self::Broken("nothing was tried".to_owned()),
            (0, 1) => Self::Blocked(blocked.remove(0)),
            (0, count) => Self::Blocked(format!("all {count} ways, the last: {}", blocked[count - 1])),
            (count, 0) => Self::Reached(format!("{count} ways")),
            _ => Self::Broken(format!("not every way is open without a sandbox: {}", blocked.join("; "))),
        }
    }

    /// Several things that all must work, here as in the control: the first that does not decides.
    pub(crate) fn each_reached(answers: impl IntoIterator<Item = Self>) -> Self {
        let mut count = 0;
        for answer in answers {
            match answer {
                Self::Reached(_) => count += 1,
                other => return other,
            }
        }
        Self::Reached(format!("{count} things"))
    }

    /// As one line between processes.
    pub(crate) fn to_line(&self) -> String {
        let (word, detail) = match self {
            Self::Reached(detail) => ("reached", detail),
            Self::Blocked(detail) => ("blocked", detail),
            Self::Broken(detail) => ("broken", detail),
            Self::Lacking(detail) => ("lacking", detail),
        };
        format!("{MARK}{word} {}", detail.replace('\n', " "))
    }

    /// The last answer in an output.
    pub(crate) fn from_output(output: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(output);
        let line = text.lines().rev().find_map(|line| line.strip_prefix(MARK))?;
        let (word, detail) = line.split_once(' ')?;
        let detail = detail.to_owned();
        match word {
            "reached" => Some(Self::Reached(detail)),
            "blocked" => Some(Self::Blocked(detail)),
            "broken" => Some(Self::Broken(detail)),
            "lacking" => Some(Self::Lacking(detail)),
            _ => None,
        }
    }
}

const MARK: &str = "polder-attack: ";
