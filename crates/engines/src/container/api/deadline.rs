//! How long a whole request may take.

use std::io;
use std::time::{Duration, Instant};

/// When a request must be over, whatever the daemon says until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// For what a daemon does at once: questions, starting, removing.
    pub(crate) fn quick() -> Self {
        Self::after(Duration::from_secs(60))
    }

    /// This long from now.
    pub(crate) fn after(span: Duration) -> Self {
        // A span beyond what a clock can hold is a year: longer than anybody waits, and not for ever.
        let now = Instant::now();
        Self(now.checked_add(span).unwrap_or(now + Duration::from_secs(365 * 86_400)))
    }

    /// What is left; nothing left is an error, so that nobody waits without an end.
    pub(crate) fn left(self) -> io::Result<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}
