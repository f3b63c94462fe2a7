//! Whether a service starts again when it has ended, and when. Pure.
//!
//! A service that ends again and again is started later and later, and at last not any more: whoever waits for it learns
//! more from an exit code than from silence.

use polder_facts::{Ending, Outcome};
use std::time::Duration;

/// Before the first new start in a row.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
/// No pause is longer.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// A service that lived this long was well; what happened before does not count any more.
const STEADY: Duration = Duration::from_secs(60);
/// New starts in a row of a service that is not well.
const STARTS_MAX: u32 = 5;

/// After which ends a service starts again by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// After none.
    Never,
    /// After one that was no success.
    OnFailure,
    /// After every one.
    Always,
}

/// What comes after an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: this was the last end.
    End,
    /// Nothing, because it ended too often.
    GiveUp {
        /// How many times it was started in vain.
        starts: u32,
    },
    /// A new start after a pause.
    Start {
        /// The pause.
        pause: Duration,
        /// Which new start in a row this is.
        start: u32,
        /// How many there are at most.
        of: u32,
    },
}

/// How often a service may still end before nobody starts it any more.
#[derive(Clone, Debug)]
pub struct Patience {
    restart: Restart,
    in_a_row: u32,
}

impl Patience {
    /// All of it.
    pub const fn new(restart: Restart) -> Self {
        Self { restart, in_a_row: 0 }
    }

    /// What comes after this outcome of a service that lived so long.
    pub fn after(&mut self, outcome: &Outcome, lived: Duration) -> Next {
        let again = match outcome.ending {
            // What is not there will not be there the next time, and who asked for an end gets it.
            Ending::NotFound | Ending::NotExecutable(_) | Ending::Interrupted(_) => false,
            Ending::Exited(0) => self.restart == Restart::Always,
            Ending::Exited(_) | Ending::Signalled(_) | Ending::TimedOut | Ending::LimitReached | Ending::Lost => {
                self.restart != Restart::Never
            }
        };
        if !again {
            return Next::End;
        }
        if lived >= STEADY {
            self.in_a_row = 0;
        }
        if self.in_a_row == STARTS_MAX {
            return Next::GiveUp { starts: STARTS_MAX };
        }
        let pause = PAUSE_FIRST.saturating_mul(1 << self.in_a_row).min(PAUSE_MAX);
        self.in_a_row += 1;
        Next::Start { pause, start: self.in_a_row, of: STARTS_MAX }
    }
}

#[cfg(test)]
mod tests;
