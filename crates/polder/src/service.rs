//! Long-lived commands: a name, and a directory that is theirs alone.

use crate::config;
use crate::error::Error;
use polder_facts::{HostPath, Origin, Sourced};
use polder_policy::{Policy, Service};
use polder_run::{Owner, StateError, caches};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::str::FromStr;

/// The longest name, which is also that of a directory.
const BYTES_MAX: usize = 63;
/// By what services find their directory elsewhere, too.
const VARIABLE: &str = "STATE_DIRECTORY";

/// 1–63 of letters, digits, `.`, `_` and `-`, led by a letter or a digit: safe as a file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceName(String);

/// A text that is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name for a service: 1 to 63 of a-z, A-Z, 0-9, `.`, `_`, `-`, led by a letter or a digit")]
pub struct ServiceNameError(String);

/// Why a service has no directory of its own.
#[derive(Debug, thiserror::Error)]
pub enum NoState {
    /// The directory could not be made.
    #[error(transparent)]
    Make(#[from] StateError),
    /// There is no place for it.
    #[error("there is no place for what the service `{0}` keeps; set HOME or XDG_STATE_HOME")]
    Nowhere(String),
}

impl FromStr for ServiceName {
    type Err = ServiceNameError;

    fn from_str(text: &str) -> Result<Self, ServiceNameError> {
        let led = text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
        let inner = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if led && inner && text.len() <= BYTES_MAX {
            Ok(Self(text.to_owned()))
        } else {
            Err(ServiceNameError(text.to_owned()))
        }
    }
}

/// The policy for a command that is this service, with its directory; makes the directory when it is not there, unless
/// somebody only looks.
pub(crate) fn with_state(
    mut policy: Policy,
    (ServiceName(name), only_looks): (&ServiceName, bool),
    workspace: &Path,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<Policy, Error> {
    let nowhere = || NoState::Nowhere(name.clone());
    let store = caches::place(environment, &config::home(environment)).ok_or_else(nowhere)?;
    let user = polder_sys::facts::user(environment, workspace);
    let owner = (user.uid == 0).then_some(Owner { uid: user.inside_uid, gid: user.inside_gid });
    let store = caches::resolved(&store);
    let state = if only_looks {
        polder_run::state_path(&store, name)
    } else {
        polder_run::state(&store, name, owner).map_err(NoState::Make)?
    };
    let state = HostPath::new(&state).map_err(|_| nowhere())?;
    let origin = Origin::Flag("--service".to_owned());
    // What the user sets stands behind and wins.
    let variable = (VARIABLE.to_owned(), polder_plan::STATE.to_owned());
    policy.env.set.insert(0, Sourced::new(variable, origin.clone()));
    policy.service = Some(Sourced::new(Service { name: name.clone(), state }, origin));
    Ok(policy)
}

#[cfg(test)]
mod tests {
    use super::ServiceName;

    #[test]
    fn a_name_cannot_lead_anywhere() {
        for right in ["memory", "a.b-c_d", "7"] {
            assert!(right.parse::<ServiceName>().is_ok(), "{right}");
        }
        for wrong in ["", ".", "..", "-x", "a/b", "a b", "a\n", &"x".repeat(64)] {
            assert!(wrong.parse::<ServiceName>().is_err(), "{wrong}");
        }
    }
}
