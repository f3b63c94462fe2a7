//! What outlives a run: the runs of a session share it.
//!
//! An engine that makes something costly for a sandbox, such as a container, keeps it here under a key that says everything
//! about it. However many runs ask for the same key at the same time, it is made once and the others wait for it. Nothing
//! here knows what it is; when the session ends, and the last run that uses it, it is dropped, and dropping ends it.

use crate::launch::{LaunchError, LaunchFailure};
use crate::lookout::Lookout;
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many things are kept that nobody uses. More are not worth what they hold: the one that was used longest ago goes.
const IDLE_MAX: usize = 8;
/// How often somebody who waits looks whether anybody still wants it.
const LOOK_MS: u64 = 100;

/// What the runs of a session share. A copy is the same session.
#[derive(Clone)]
pub struct Session {
    shelf: Arc<Mutex<Shelf>>,
    words: Words,
}

/// What people have to hear of things that went, such as a container that could not be removed. A thing often goes when
/// nobody is left to tell it to, with the session itself: the words outlive it, and whoever ended it tells them.
#[derive(Clone, Debug, Default)]
pub struct Words(Arc<Mutex<Vec<String>>>);

impl Words {
    /// Adds some.
    pub fn add(&self, words: impl IntoIterator<Item = String>) {
        locked(&self.0).extend(words);
    }

    /// Everything that was added since the last time.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut locked(&self.0))
    }
}

/// Things of different kinds may have the same key.
type Key = (TypeId, String);

struct Shelf {
    slots: BTreeMap<Key, Arc<Slot>>,
    /// Counts uses, to know which was long ago.
    uses: u64,
}

/// The place of one thing.
struct Slot {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    thing: Option<Arc<dyn Any + Send + Sync>>,
    /// Somebody makes it right now.
    being_made: bool,
    used: u64,
    /// How often making it failed, and how the last time.
    failures: u64,
    failure: Option<(String, Option<String>)>,
}

impl Session {
    /// A session in which nothing has happened.
    pub fn new() -> Self {
        let shelf = Shelf { slots: BTreeMap::new(), uses: 0 };
        Self { shelf: Arc::new(Mutex::new(shelf)), words: Words::default() }
    }

    /// What people have to hear of things that went.
    pub fn words(&self) -> Words {
        self.words.clone()
    }

    /// What is kept under this key, if it is still good; else it is made. Who asks while it is being made gets the same
    /// answer, also when that is a failure; who asks later tries again, and so do those who wait for somebody who was
    /// interrupted.
    pub fn share<T: Any + Send + Sync>(
        &self,
        key: &str,
        lookout: &mut dyn Lookout,
        is_good: impl Fn(&T) -> bool,
        make: impl FnOnce(&mut dyn Lookout) -> Result<T, LaunchError>,
    ) -> Result<Arc<T>, LaunchError> {
        let slot = self.slot((TypeId::of::<T>(), key.to_owned()));
        let mut state = slot.turn(lookout)?;
        if let Some(thing) = state.thing.clone().and_then(|thing| thing.downcast::<T>().ok())
            && is_good(&thing)
        {
            return Ok(thing);
        }
        state.being_made = true;
        let stale = state.thing.take();
        drop(state);
        // Whatever comes of it, those who wait are told.
        let making = Making(&slot);
        // What is not good any more goes before its successor comes.
        drop(stale);
        let made = make(lookout).map(Arc::new);
        let mut state = locked(&slot.state);
        let answer = match made {
            Ok(thing) => {
                state.thing = Some(Arc::clone(&thing) as Arc<dyn Any + Send + Sync>);
                Ok(thing)
            }
            Err(LaunchError { failure, remedy }) => {
                let shared = !matches!(failure, LaunchFailure::Interrupted(_));
                let error = LaunchError { failure, remedy: None };
                if shared {
                    (state.failures, state.failure) = (state.failures + 1, Some((error.to_string(), remedy.clone())));
                }
                Err(LaunchError { remedy, ..error })
            }
        };
        drop(state);
        drop(making);
        self.tidy();
        answer
    }

    /// What is kept under this key; nothing is made, and nobody waits.
    pub fn known<T: Any + Send + Sync>(&self, key: &str) -> Option<Arc<T>> {
        let slot = locked(&self.shelf).slots.get(&(TypeId::of::<T>(), key.to_owned())).cloned()?;
        let thing = locked(&slot.state).thing.clone()?;
        thing.downcast().ok()
    }

    fn slot(&self, key: Key) -> Arc<Slot> {
        let mut shelf = locked(&self.shelf);
        shelf.uses += 1;
        let number = shelf.uses;
        let slot = Arc::clone(shelf.slots.entry(key).or_insert_with(|| Arc::new(Slot::empty())));
        locked(&slot.state).used = number;
        slot
    }

    /// Lets go of what nobody uses, beyond what is worth keeping.
    fn tidy(&self) {
        let slots: Vec<Arc<Slot>> = locked(&self.shelf).slots.values().cloned().collect();
        let mut idle: Vec<(u64, &Arc<Slot>)> =
            slots.iter().filter_map(|slot| locked(&slot.state).idle_since().map(|used| (used, slot))).collect();
        idle.sort_by_key(|(used, _)| *used);
        let surplus = idle.len().saturating_sub(IDLE_MAX);
        for (used, slot) in idle.into_iter().take(surplus) {
            let mut state = locked(&slot.state);
            let gone = if state.idle_since() == Some(used) { state.thing.take() } else { None };
            drop(state);
            // Ending it may take its time, and nobody has to wait for that.
            drop(gone);
        }
    }
}

impl Slot {
    fn empty() -> Self {
        let state = State { thing: None, being_made: false, used: 0, failures: 0, failure: None };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits while somebody makes the thing; an error if that fails meanwhile, or if nobody wants it any more.
    fn turn(&self, lookout: &mut dyn Lookout) -> Result<MutexGuard<'_, State>, LaunchError> {
        let mut state = locked(&self.state);
        let failures_before = state.failures;
        while state.being_made {
            let waited = self.changed.wait_timeout(state, Duration::from_millis(LOOK_MS));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if let Some(signal) = lookout.interrupted() {
                return Err(LaunchError { failure: LaunchFailure::Interrupted(signal), remedy: None });
            }
            if let (true, Some((text, remedy))) = (state.failures > failures_before, &state.failure) {
                let failure = LaunchFailure::Setup(text.clone().into());
                return Err(LaunchError { failure, remedy: remedy.clone() });
            }
        }
        Ok(state)
    }
}

impl State {
    /// Since which use nobody has had it. Uses begin under the lock of this state.
    fn idle_since(&self) -> Option<u64> {
        let thing = self.thing.as_ref()?;
        (Arc::strong_count(thing) == 1).then_some(self.used)
    }
}

/// Somebody who makes a thing, and is done when this is dropped, also by a panic.
struct Making<'a>(&'a Slot);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        locked(&self.0.state).being_made = false;
        self.0.changed.notify_all();
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
