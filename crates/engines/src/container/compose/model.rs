//! What a compose file says, as far as it is understood, and all of it is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The services that a run needs.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::container) struct Project {
    /// The one that the command takes the place of.
    pub(in crate::container) own: Service,
    /// Those beside it, in the order in which they start.
    pub(in crate::container) others: Vec<Service>,
}

impl Project {
    /// The names under which everybody finds everybody else: on the loopback that they share.
    pub(in crate::container) fn names(&self) -> Vec<&str> {
        [&self.own].into_iter().chain(&self.others).map(|service| service.name.as_str()).collect()
    }

    /// The volumes that somebody uses by name.
    pub(super) fn volumes(&self) -> BTreeSet<&str> {
        self.others.iter().flat_map(|service| &service.mounts).filter_map(|mount| mount.volume.as_deref()).collect()
    }
}

/// One service.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::container) struct Service {
    pub(in crate::container) name: String,
    /// Where it stands, for what is found out later.
    pub(in crate::container) line: u32,
    pub(in crate::container) image: String,
    pub(super) command: Option<Vec<String>>,
    pub(super) entrypoint: Option<Vec<String>>,
    pub(in crate::container) env: BTreeMap<String, String>,
    /// Who it is inside, as a name or a number of its image.
    pub(super) user: Option<String>,
    pub(super) workdir: Option<String>,
    pub(super) needs: Vec<Need>,
    pub(super) check: Option<Check>,
    pub(super) mounts: Vec<Mount>,
    /// Places in memory.
    pub(super) scratch: Vec<String>,
    pub(super) read_only: bool,
    pub(super) memory_bytes: Option<u64>,
    pub(super) cpus: Option<f64>,
    pub(super) pids: Option<u64>,
}

/// Another service that must be there first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) name: String,
    pub(super) line: u32,
    /// Whether it must be well, too.
    pub(super) healthy: bool,
}

/// A volume, which is the run's own and goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// Absent: one without a name.
    pub(super) volume: Option<String>,
    pub(super) target: String,
    pub(super) read_only: bool,
}

/// How a service is asked whether it is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) test: Vec<String>,
    pub(super) interval: Duration,
    pub(super) timeout: Duration,
    pub(super) retries: u32,
    pub(super) start_period: Duration,
}

/// The longest that anybody waits for one service, whatever it says itself.
pub(super) const PATIENCE_MAX: Duration = Duration::from_secs(300);

/// The checks of a service that failed one after the other, counted as compose does: at their own interval, and not those
/// of the time that the service has to start. Checks between two that count only find out sooner that all is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failures<'a> {
    check: &'a Check,
    count: u32,
    /// When the next one counts, from the start of the service on.
    next: Duration,
}

impl<'a> Failures<'a> {
    pub(super) fn none(check: &'a Check) -> Self {
        Self { check, count: 0, next: check.interval }
    }

    /// Takes a check that began so long after the start and failed; says whether the service is given up.
    pub(super) fn add(&mut self, begun: Duration) -> bool {
        if begun >= self.next && begun >= self.check.start_period {
            self.count += 1;
            self.next = begun.saturating_add(self.check.interval);
        }
        self.count >= self.check.retries
    }
}

#[cfg(test)]
mod tests;
