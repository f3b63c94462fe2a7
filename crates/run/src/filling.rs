//! A bound for what a layer takes on the disk, kept by looking: no quota is a user's to set. It is accounting, and the
//! engines' judgement says so.

use polder_workspace::Gauge;
use std::time::{Duration, Instant};

/// Between two looks at a small layer.
const PACE: Duration = Duration::from_millis(50);
/// A look takes at most one part in this many of the time.
const SHARE: u32 = 20;

/// A layer and its bound.
#[derive(Debug)]
pub(crate) struct Filling {
    gauge: Gauge,
    bound_bytes: u64,
    next: Instant,
}

impl Filling {
    pub(crate) fn new(gauge: Gauge, bound_bytes: u64) -> Self {
        Self { gauge, bound_bytes, next: Instant::now() + PACE }
    }

    /// When to look again.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// Looks. A layer that cannot be measured is over every bound.
    pub(crate) fn is_over(&mut self) -> bool {
        let began = Instant::now();
        let over = !self.gauge.bytes(self.bound_bytes).is_ok_and(|bytes| bytes <= self.bound_bytes);
        self.next = Instant::now() + PACE.max(began.elapsed() * SHARE);
        over
    }
}
