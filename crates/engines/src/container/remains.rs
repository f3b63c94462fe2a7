//! What could not be removed. It is noted where that is found out, often by a value on its way out, and told by whoever
//! can still tell it.

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

    /// Everything that was noted since the last time.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
