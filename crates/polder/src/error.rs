//! Everything that can keep a command from running, as one type for callers.

use polder_facts::Origin;
use polder_policy::{Faults, ResolveError};
use polder_run::caches::StoreError;
use polder_run::{LeftoverError, PrepareError, RunError, Unfit};

/// Why a command did not run. Whatever had been built is gone again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration file, a variable or a flag is wrong.
    #[error("{0}")]
    Configuration(Faults),
    /// A project's file asks for what only the user can give.
    #[error("{}", untrusted(.0))]
    Untrusted(ResolveError),
    /// The policy and this machine do not go together.
    #[error(transparent)]
    Plan(#[from] PrepareError),
    /// No engine can keep the policy here.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The sandbox could not be started or watched.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An earlier run, or one that goes on, left what this one must not obey.
    #[error(transparent)]
    Leftover(#[from] LeftoverError),
    /// What is kept between runs cannot be looked at.
    #[error(transparent)]
    Caches(#[from] StoreError),
    /// The run would not be in the audit log.
    #[error(transparent)]
    Unrecorded(#[from] crate::audit::Unrecorded),
    /// The service has no directory of its own.
    #[error(transparent)]
    Service(#[from] crate::service::NoState),
    /// These steps cannot run; nothing was started.
    #[error("{}", unfit_steps(.0))]
    Steps(Vec<(String, Unfit)>),
    /// The working directory or the home directory cannot be used.
    #[error("cannot use `{}`", path.display())]
    Directory {
        /// Which one.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl From<Faults> for Error {
    fn from(faults: Faults) -> Self {
        Self::Configuration(faults)
    }
}

impl From<ResolveError> for Error {
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::Faults(faults) => Self::Configuration(faults),
            untrusted @ ResolveError::Untrusted { .. } => Self::Untrusted(untrusted),
        }
    }
}

/// Every step that nobody may run, with the reason.
fn unfit_steps(steps: &[(String, Unfit)]) -> String {
    let lines: Vec<_> = steps.iter().map(|(name, unfit)| format!("the step `{name}` cannot run: {unfit}")).collect();
    lines.join("\n")
}

/// The most things that a refusal names.
const ASKS_NAMED_MAX: usize = 6;

/// One line: the things that the file asks for, and the ways to allow them.
fn untrusted(error: &ResolveError) -> String {
    let ResolveError::Untrusted { path, asks, .. } = error else { return error.to_string() };
    let place = |origin: &Origin| match origin {
        Origin::File { path: at, line } if at == path => format!("line {line}"),
        other => other.to_string(),
    };
    let named = asks.iter().take(ASKS_NAMED_MAX);
    let mut things: Vec<_> = named.map(|ask| format!("{} ({})", ask.what, place(&ask.origin))).collect();
    if let Some(more) = asks.len().checked_sub(ASKS_NAMED_MAX).filter(|more| *more > 0) {
        things.push(format!("{more} more (`polder trust --show` names them)"));
    }
    let flags: Vec<_> = asks.iter().filter_map(|ask| ask.flag.as_deref()).collect();
    // Only where flags give everything: some of them would be refused again.
    let complete = !flags.is_empty() && flags.len() == asks.len() && asks.len() <= ASKS_NAMED_MAX;
    let by_flag = if complete { format!("; `{}` gives only that", flags.join(" ")) } else { String::new() };
    format!(
        "`{}` asks: {}; you have not trusted it: `--trust` allows it once, `polder trust` remembers it, \
         POLDER_TRUST_PROJECT=1 is for CI{by_flag}",
        path.display(),
        // A path can hold a line break, and the refusal is one line.
        things.join(", ").replace(['\n', '\r'], "?")
    )
}
