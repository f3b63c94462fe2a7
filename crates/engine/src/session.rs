//! What outlives a run: the runs of a session share it.
//!
//! An engine that makes something costly for a sandbox, such as a container, keeps it here under a key that says everything
//! about it. However many runs ask for the same key at the same time, it is made once and the others wait for it. Nothing
//! here knows what it is; when the session ends, and the last run that uses it, it is dropped, and dropping ends it.

use crate::launch::{LaunchError, LaunchFailure};
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many things are kept that nobody uses. More are not worth what they hold: the one that was used longest ago goes.
const IDLE_MAX: usize = 8;

/// What the runs of a session share. A copy is the same session.
#[derive(Clone)]
pub struct Session(Arc<Mutex<Shelf>>);

/// Things of different kinds may have the same key.
type Key = (TypeId, String);

struct Shelf {
    slots: BTreeMap<Key, Arc<Slot>>,
    /// Counts uses, to know which was long ago.
    uses: u64,
}

/// The place of one thing. Whoever makes it holds the lock meanwhile.
struct Slot {
    kept: Mutex<Kept>,
    /// How often making it failed.
    failures: Mutex<Failures>,
}

struct Kept {
    thing: Option<Arc<dyn Any + Send + Sync>>,
    used: u64,
}

struct Failures {
    count: u64,
    last: Option<(String, Option<String>)>,
}

/// Somebody who waits for a thing.
struct Asked {
    slot: Arc<Slot>,
    /// Which use it is.
    number: u64,
    /// How often making it had failed by then.
    failures_before: u64,
}

impl Session {
    /// A session in which nothing has happened.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Shelf { slots: BTreeMap::new(), uses: 0 })))
    }

    /// What is kept under this key, if it is still good; else it is made. Who asks while it is being made gets the same
    /// answer, also when that is a failure; who asks later tries again.
    pub fn share<T: Any + Send + Sync>(
        &self,
        key: &str,
        is_good: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Result<T, LaunchError>,
    ) -> Result<Arc<T>, LaunchError> {
        let Asked { slot, number, failures_before } = self.ask((TypeId::of::<T>(), key.to_owned()));
        let mut kept = locked(&slot.kept);
        kept.used = number;
        if let Some(thing) = kept.thing.clone().and_then(|thing| thing.downcast::<T>().ok())
            && is_good(&thing)
        {
            return Ok(thing);
        }
        if let Failures { count, last: Some((text, remedy)) } = &*locked(&slot.failures)
            && *count > failures_before
        {
            return Err(LaunchError { failure: LaunchFailure::Setup(text.clone().into()), remedy: remedy.clone() });
        }
        // What is not good any more goes before its successor comes.
        kept.thing = None;
        match make() {
            Ok(thing) => {
                let thing = Arc::new(thing);
                kept.thing = Some(Arc::clone(&thing) as Arc<dyn Any + Send + Sync>);
                drop(kept);
                self.tidy();
                Ok(thing)
            }
            Err(error) => {
                let mut failures = locked(&slot.failures);
                let LaunchError { failure, remedy } = error;
                let error = LaunchError { failure, remedy: None };
                (failures.count, failures.last) = (failures.count + 1, Some((error.to_string(), remedy.clone())));
                Err(LaunchError { remedy, ..error })
            }
        }
    }

    fn ask(&self, key: Key) -> Asked {
        let mut shelf = locked(&self.0);
        shelf.uses += 1;
        let number = shelf.uses;
        let empty = || {
            Arc::new(Slot {
                kept: Mutex::new(Kept { thing: None, used: 0 }),
                failures: Mutex::new(Failures { count: 0, last: None }),
            })
        };
        let slot = shelf.slots.entry(key).or_insert_with(empty);
        let failures_before = locked(&slot.failures).count;
        Asked { slot: Arc::clone(slot), number, failures_before }
    }

    /// Lets go of what nobody uses, beyond what is worth keeping.
    fn tidy(&self) {
        let slots: Vec<Arc<Slot>> = locked(&self.0).slots.values().cloned().collect();
        let idle_since = |slot: &Slot| {
            // One that is being made is not idle.
            let kept = slot.kept.try_lock().ok()?;
            let thing = kept.thing.as_ref()?;
            // Uses begin under this lock, so that nobody can have begun one meanwhile.
            (Arc::strong_count(thing) == 1).then_some(kept.used)
        };
        let mut idle: Vec<(u64, &Arc<Slot>)> =
            slots.iter().filter_map(|slot| idle_since(slot).map(|used| (used, slot))).collect();
        idle.sort_by_key(|(used, _)| *used);
        let surplus = idle.len().saturating_sub(IDLE_MAX);
        for (used, slot) in idle.into_iter().take(surplus) {
            let mut kept = locked(&slot.kept);
            if kept.used == used && kept.thing.as_ref().is_some_and(|thing| Arc::strong_count(thing) == 1) {
                kept.thing = None;
            }
        }
    }
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}

/// A lock whose holder panicked guards nothing that could be half done: every change is one assignment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
