//! A run as a stream of events: for loops, as an iterator, and for executors, one future at a time.
//!
//! The run has a thread of its own and waits when nobody takes its events, so that memory is bounded whatever a command
//! writes.

use crate::error::Error;
use polder_facts::{Event, Outcome};
use std::collections::VecDeque;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Events that wait to be taken; an event of output holds at most what one read gives.
const WAITING_MAX: usize = 64;

/// Everything that happens in a run, in order, while it happens.
///
/// Dropping it before the end means that nobody listens any more: the command ends like one whose pipe broke, at the next
/// thing that would be told.
#[must_use = "a run waits for somebody who takes its events"]
pub struct Events {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: VecDeque<Event>,
    ended: Option<Result<Outcome, Error>>,
    is_over: bool,
    nobody_listens: bool,
    waker: Option<Waker>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let waker = state.waker.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Puts an event in line; waits while the line is full.
    fn put(&self, event: Event) -> ControlFlow<()> {
        let mut state = self.lock();
        while state.waiting.len() >= WAITING_MAX && !state.nobody_listens {
            state = self.wait(state);
        }
        if state.nobody_listens {
            return ControlFlow::Break(());
        }
        drop(state);
        self.tell(|state| state.waiting.push_back(event));
        ControlFlow::Continue(())
    }
}

impl Events {
    /// Starts `run` on a thread of its own; it is given who takes the events.
    pub(crate) fn of<R>(run: R) -> Self
    where
        R: FnOnce(&mut dyn FnMut(Event) -> ControlFlow<()>) -> Result<Outcome, Error> + Send + 'static,
    {
        let state = State { waiting: VecDeque::new(), ended: None, is_over: false, nobody_listens: false, waker: None };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            let ended = run(&mut |event| theirs.put(event));
            theirs.tell(|state| (state.ended, state.is_over) = (Some(ended), true));
        });
        Self { shared }
    }

    /// The next event, for executors; `None` when nothing of the run is left.
    pub fn next_event(&mut self) -> NextEvent<'_> {
        NextEvent { events: self }
    }

    /// How the run ended; waits for the end, and lets go of what was not taken.
    pub fn outcome(self) -> Result<Outcome, Error> {
        let mut state = self.shared.lock();
        loop {
            state.waiting.clear();
            if let Some(ended) = state.ended.take() {
                return ended;
            }
            self.shared.changed.notify_all();
            state = self.shared.wait(state);
        }
    }

    fn pop(&self, state: &mut State) -> Option<Event> {
        let event = state.waiting.pop_front();
        if event.is_some() {
            self.shared.changed.notify_all();
        }
        event
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut state = self.shared.lock();
        loop {
            match self.pop(&mut state) {
                Some(event) => return Some(event),
                None if state.is_over => return None,
                None => state = self.shared.wait(state),
            }
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.shared.tell(|state| state.nobody_listens = true);
    }
}

/// The next event of a run.
#[must_use = "futures do nothing unless they are polled"]
pub struct NextEvent<'a> {
    events: &'a mut Events,
}

impl Future for NextEvent<'_> {
    type Output = Option<Event>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut state = self.events.shared.lock();
        match self.events.pop(&mut state) {
            Some(event) => Poll::Ready(Some(event)),
            None if state.is_over => Poll::Ready(None),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
