//! Whose a container is: labels by which the next start finds what a killed polder left behind.

use super::api::{ApiError, Client, Deadline};
use polder_sys::cgroup::start_time;
use std::collections::BTreeMap;

/// The pid of the polder that made it.
const OWNER: &str = "polder.owner";
/// When that started, in clock ticks since boot.
const START: &str = "polder.owner-start";
/// The pid namespace in which the pid means something.
const NAMESPACE: &str = "polder.owner-namespace";
/// The uid that asked for it.
const UID: &str = "polder.owner-uid";

/// The labels of a container that this process makes.
pub(super) fn labels(uid: u32) -> BTreeMap<&'static str, String> {
    let pid = std::process::id();
    BTreeMap::from([
        (OWNER, pid.to_string()),
        (START, start_time(pid).unwrap_or(0).to_string()),
        (NAMESPACE, namespace()),
        (UID, uid.to_string()),
    ])
}

fn namespace() -> String {
    std::fs::read_link("/proc/self/ns/pid").map(|name| name.display().to_string()).unwrap_or_default()
}

/// Removes containers of this user whose owner is gone.
pub(super) fn reap(client: &Client, uid: u32) -> Result<(), ApiError> {
    let mine = [format!("{UID}={uid}"), format!("{NAMESPACE}={}", namespace())];
    for listed in client.list_containers(&mine, Deadline::quick())? {
        if let (true, Ok(id)) = (is_orphan(&listed.labels), listed.id.parse()) {
            client.remove_container(&id, Deadline::quick())?;
        }
    }
    Ok(())
}

fn is_orphan(labels: &BTreeMap<String, String>) -> bool {
    let number = |name| labels.get(name).and_then(|text| text.parse::<u64>().ok());
    match (number(OWNER).and_then(|pid| u32::try_from(pid).ok()), number(START)) {
        (Some(pid), Some(start)) => start_time(pid) != Some(start),
        // Not ours, whatever else it says.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_of_a_living_owner_stays() {
        let own: BTreeMap<String, String> =
            labels(7).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        assert!(!is_orphan(&own));
        let mut dead = own.clone();
        dead.insert(START.to_owned(), "1".to_owned());
        assert!(is_orphan(&dead));
        assert!(!is_orphan(&BTreeMap::new()), "somebody else's container");
    }
}
