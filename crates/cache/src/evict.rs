//! Which scopes are not kept any longer: those that nobody used for their time, and beyond their number those that nobody
//! used for the longest time. Only scopes of the same family are ever looked at.

use crate::family::{Family, used};
use std::ffi::OsStr;
use std::io;
use std::time::{Duration, SystemTime};

/// A scope and when it was used last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) scope: String,
    pub(crate) used: SystemTime,
}

/// What the policy says about keeping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeping {
    pub(crate) ttl: Duration,
    pub(crate) max_scopes: usize,
}

/// Whether a scope was unused for longer than its time. A clock that went back makes nothing old.
pub(crate) fn expired(used: SystemTime, now: SystemTime, ttl: Duration) -> bool {
    now.duration_since(used).is_ok_and(|age| age > ttl)
}

/// Removes what is not kept, the least recently used first, never the run's own and never one that is in use.
pub(crate) fn evict(family: &Family, own: &str, keeping: Keeping) -> io::Result<()> {
    let mut seen = Vec::new();
    for scope in family.scopes()? {
        let used = used(&family.directory.enter(OsStr::new(&scope))?)?;
        seen.push(Seen { scope, used });
    }
    let now = SystemTime::now();
    let mut left = seen.len();
    for Seen { scope, used } in in_order(seen) {
        let surplus = left > keeping.max_scopes;
        if scope == own || !(surplus || expired(used, now, keeping.ttl)) {
            continue;
        }
        if family.remove(&scope)? {
            left -= 1;
        }
    }
    Ok(())
}

/// The least recently used first.
fn in_order(mut seen: Vec<Seen>) -> Vec<Seen> {
    seen.sort_by(|a, b| (a.used, &a.scope).cmp(&(b.used, &b.scope)));
    seen
}
