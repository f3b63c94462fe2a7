//! What a daemon says while it gets or builds an image, as people follow it.

use super::super::api::Progress as Said;
use polder_engine::{Lookout, Notice};
use polder_facts::Progress;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How often the parts of an image are told at most.
const PAUSE: Duration = Duration::from_millis(100);
/// The most parts that are followed; a daemon can make up as many as it likes.
const PARTS_MAX: usize = 1000;

/// Tells what is done, one word at a time, and that it is over when it goes.
pub(in crate::container) struct Told<'a> {
    what: String,
    lookout: &'a mut dyn Lookout,
    parts: Parts,
    /// Whether there is something to tell about the parts.
    news: bool,
    last: Option<Instant>,
}

impl<'a> Told<'a> {
    pub(in crate::container) fn new(what: String, lookout: &'a mut dyn Lookout) -> Self {
        let mut told = Self { what, lookout, parts: Parts::default(), news: false, last: None };
        told.tell(String::new(), None, None, false);
        told
    }

    /// Passes on what a daemon said; breaks off when nobody waits any more.
    pub(super) fn hear(&mut self, said: Option<&Said>) -> ControlFlow<()> {
        match said {
            Some(Said::Line(line)) => self.tell(line.clone(), None, None, false),
            Some(Said::Part { id, doing, current_bytes, total_bytes }) => {
                self.parts.note(id, doing, *current_bytes, *total_bytes);
                self.news = true;
            }
            Some(Said::Made(_)) | None => {}
        }
        // Also when nothing is said for a while: the last word must not be the one that is left out.
        if self.news && self.last.is_none_or(|last| last.elapsed() >= PAUSE) {
            (self.news, self.last) = (false, Some(Instant::now()));
            let (current, total) = self.parts.bytes();
            self.tell(self.parts.words(), current, total, false);
        }
        self.waiting()
    }

    /// Says that something is not as it should be.
    pub(super) fn warn(&mut self, text: String) {
        self.lookout.tell(Notice::Warning(text));
    }

    /// Whether somebody still waits.
    pub(in crate::container) fn waiting(&mut self) -> ControlFlow<()> {
        match self.lookout.interrupted() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    /// The signal by which somebody asked for the end.
    pub(in crate::container) fn interrupted(&mut self) -> Option<i32> {
        self.lookout.interrupted()
    }

    fn tell(&mut self, text: String, current_bytes: Option<u64>, total_bytes: Option<u64>, done: bool) {
        let what = self.what.clone();
        self.lookout.tell(Notice::Progress(Progress { what, text, current_bytes, total_bytes, done }));
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        // A quick pull is over before its size was told.
        let (current, total) = self.parts.bytes();
        self.tell(String::new(), current, total, true);
    }
}

/// The parts of an image that is fetched.
#[derive(Debug, Default)]
struct Parts {
    known: BTreeMap<String, Part>,
    /// What was said about none of them.
    word: String,
}

#[derive(Debug, Default)]
struct Part {
    current_bytes: u64,
    total_bytes: u64,
    there: bool,
}

impl Parts {
    fn note(&mut self, id: &str, doing: &str, current_bytes: Option<u64>, total_bytes: Option<u64>) {
        // Words about the whole, such as the tag that is fetched, come with an id of another kind or with none.
        let begins = ["Pulling fs layer", "Already exists", "Waiting", "Downloading"].contains(&doing);
        if id.is_empty() || !(begins || self.known.contains_key(id)) {
            doing.clone_into(&mut self.word);
            return;
        }
        if !self.known.contains_key(id) && self.known.len() >= PARTS_MAX {
            return;
        }
        let part = self.known.entry(id.to_owned()).or_default();
        match doing {
            "Downloading" => {
                part.current_bytes = current_bytes.unwrap_or(part.current_bytes);
                part.total_bytes = total_bytes.unwrap_or(part.total_bytes).max(part.current_bytes);
            }
            "Download complete" | "Pull complete" | "Already exists" => {
                part.there = true;
                part.current_bytes = part.total_bytes;
            }
            _ => {}
        }
    }

    fn words(&self) -> String {
        if self.known.is_empty() {
            return self.word.clone();
        }
        let there = self.known.values().filter(|part| part.there).count();
        format!("{there} of {} parts", self.known.len())
    }

    fn bytes(&self) -> (Option<u64>, Option<u64>) {
        let sum = |of: fn(&Part) -> u64| self.known.values().map(of).fold(0, u64::saturating_add);
        let total = sum(|part| part.total_bytes);
        if total == 0 { (None, None) } else { (Some(sum(|part| part.current_bytes)), Some(total)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let mut parts = Parts::default();
        parts.note("latest", "Pulling from library/x", None, None);
        assert_eq!((parts.words().as_str(), parts.bytes()), ("Pulling from library/x", (None, None)));
        parts.note("aa", "Pulling fs layer", None, None);
        parts.note("bb", "Downloading", Some(10), Some(40));
        parts.note("aa", "Downloading", Some(5), Some(5));
        parts.note("aa", "Download complete", None, None);
        assert_eq!((parts.words().as_str(), parts.bytes()), ("1 of 2 parts", (Some(15), Some(45))));
        parts.note("bb", "Extracting", Some(1), Some(40));
        parts.note("bb", "Downloading", Some(u64::MAX), None);
        assert_eq!(parts.bytes(), (Some(u64::MAX), Some(u64::MAX)), "a daemon can say any number");
        for number in 0..2 * PARTS_MAX {
            parts.note(&number.to_string(), "Waiting", None, None);
        }
        assert_eq!(parts.known.len(), PARTS_MAX);
    }
}
