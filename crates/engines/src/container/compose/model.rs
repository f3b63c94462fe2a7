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

/// The longest that anybody waits for one service.
const PATIENCE_MAX: Duration = Duration::from_secs(300);

impl Check {
    /// How long the service has, by its own numbers.
    pub(super) fn patience(&self) -> Duration {
        let tries = (self.interval + self.timeout).saturating_mul(self.retries);
        self.start_period.saturating_add(tries).min(PATIENCE_MAX)
    }
}
