//! Whoever has the secrets of a call: variables are read each time, tokens that had to be asked for are used again while
//! they have most of their time left. In memory alone.

use crate::app::{App, Minted};
use crate::secret::Secret;
use crate::source::{self, SourceError};
use crate::web::Web;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The source that stands for a token of a GitHub App.
pub const GITHUB_APP: &str = "app:github";
/// A token that is given to a run has at least this much time left, of one hour.
const LEFT_MIN: Duration = Duration::from_secs(45 * 60);

/// The secrets of one call.
pub struct Keeper {
    minted: Mutex<BTreeMap<String, Minted>>,
    asks: Asks,
}

/// Whether anybody is asked for a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    /// Where a policy says so.
    WhenNeeded,
    /// Never: something else stands for what would have been asked for.
    Never,
}

/// What stands for a token that nobody asked for.
const NOT_ASKED: &str = "not-asked-for";

impl Keeper {
    /// Asks over the network where something has to be asked for, and not before.
    pub fn new() -> Self {
        Self { minted: Mutex::new(BTreeMap::new()), asks: Asks::WhenNeeded }
    }

    /// For looking at what would happen: nobody is asked, and a word stands for what would have been asked for.
    pub fn silent() -> Self {
        Self { minted: Mutex::new(BTreeMap::new()), asks: Asks::Never }
    }

    /// The secret at the place that a policy names.
    pub fn read(
        &self,
        source: &str,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Result<Secret<String>, SourceError> {
        if source != GITHUB_APP {
            return source::read(source, environment);
        }
        let app = App::from_environment(environment)?;
        if self.asks == Asks::Never {
            return Ok(Secret::new(NOT_ASKED.to_owned()));
        }
        // Held while GitHub is asked: several steps that begin at once need one token.
        let mut minted = self.minted.lock().unwrap_or_else(PoisonError::into_inner);
        let name = app.name();
        let now = SystemTime::now();
        let fresh = |minted: &&Minted| minted.expires.duration_since(now).is_ok_and(|left| left >= LEFT_MIN);
        if let Some(known) = minted.get(&name).filter(fresh) {
            return Ok(Secret::new(known.token.reveal().clone()));
        }
        let new = app.mint(&Web { environment }, now)?;
        let token = Secret::new(new.token.reveal().clone());
        minted.insert(name, new);
        Ok(token)
    }
}

impl Default for Keeper {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keeper(..)")
    }
}
