//! The network that the runs of a session share: made by the first of them, gone with the last.

use super::Native;
use crate::shimmed::{describe, setup};
use polder_engine::{LaunchError, Lookout, Session, SharesNetwork};
use polder_sys::{Identity, SharedNet};
use std::io;
use std::sync::Arc;

/// A session has one network.
const KEY: &str = "network";

/// The network of a session.
pub(super) fn of(
    session: Option<&Session>,
    lookout: &mut dyn Lookout,
    identity: Identity,
) -> Result<Arc<SharedNet>, LaunchError> {
    // Alone on a network that is to be shared, a command would wait for somebody who never comes.
    let session = session.ok_or_else(|| setup(io::Error::other("a shared network needs a session"), None))?;
    session.share(KEY, lookout, |_| true, |_| SharedNet::make(identity).map_err(describe))
}

impl SharesNetwork for Native {
    fn listens(&self, session: &Session, port: u16) -> io::Result<bool> {
        session.known::<SharedNet>(KEY).map_or(Ok(false), |network| network.listens(port))
    }
}
