//! What could not be removed. It is noted where that is found out, often by a value on its way out, and told by whoever
//! can still tell it.

use polder_engine::Words;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

/// The most that is remembered: a daemon that is gone fails for everything.
const REMAINS_MAX: usize = 20;

/// A list that is shared by everything that belongs to one container.
#[derive(Clone, Debug)]
pub(super) struct Remains(Arc<Mutex<Vec<String>>>);

impl Remains {
    pub(super) fn none() -> Self {
        Self(Arc::new(Mutex::new(Vec::new())))
    }

    /// Notes what is left if removing it failed. The next start tries again.
    pub(super) fn note<E: Display>(&self, what: impl Display, removed: Result<(), E>) {
        let Err(error) = removed else { return };
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() < REMAINS_MAX {
            list.push(format!("{what} could not be removed: {error}; the next run tries again"));
        }
    }

    /// What hands everything to whoever can tell it, when it is dropped itself.
    pub(super) fn farewell(self, words: Words) -> Farewell {
        Farewell(self, words)
    }

    /// Everything that was noted since the last time.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Held by what goes, after everything that notes something on its way.
#[derive(Debug)]
pub(super) struct Farewell(Remains, Words);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.1.add(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_by_who_goes_first_is_handed_on() {
        let (remains, words) = (Remains::none(), Words::default());
        let farewell = remains.clone().farewell(words.clone());
        remains.note("container `b`", Err("busy"));
        assert!(words.take().is_empty(), "not before it goes");
        drop(farewell);
        assert_eq!(words.take(), ["container `b` could not be removed: busy; the next run tries again"]);
    }

    #[test]
    fn only_what_stays_is_told_and_only_once() {
        let remains = Remains::none();
        remains.note("a", Ok::<(), String>(()));
        remains.clone().note("container `b`", Err("busy"));
        assert_eq!(remains.take(), ["container `b` could not be removed: busy; the next run tries again"]);
        (0..100).for_each(|number| remains.note(number, Err("gone")));
        assert_eq!(remains.take().len(), REMAINS_MAX);
        assert!(remains.take().is_empty());
    }
}
