//! How images are got: from the engine's own table of a configuration.

use std::time::Duration;

/// When an image is got from where it is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::container) enum Pull {
    /// When the daemon does not have it.
    Missing,
    /// Every time.
    Always,
    /// Never: it is there, or the run is refused.
    Never,
}

/// How images are got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::container) struct Settings {
    pub(in crate::container) pull: Pull,
    /// How long getting one may take.
    pub(in crate::container) pull_time: Duration,
    /// How long building one may take, with waiting for somebody else who builds the same.
    pub(in crate::container) build_time: Duration,
}

impl Settings {
    /// What holds where a configuration says nothing.
    pub(in crate::container) const USUAL: Self =
        Self { pull: Pull::Missing, pull_time: Duration::from_secs(10 * 60), build_time: Duration::from_secs(30 * 60) };
}
