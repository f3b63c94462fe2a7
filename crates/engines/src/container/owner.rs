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

/// That it is a service beside a run.
pub(super) const SERVICE: &str = "polder.service";

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

/// The labels of a service that this process starts.
pub(super) fn labels_of_service(uid: u32) -> BTreeMap<&'static str, String> {
    let mut labels = labels(uid);
    labels.insert(SERVICE, "yes".to_owned());
    labels
}

fn namespace() -> String {
    std::fs::read_link("/proc/self/ns/pid").map(|name| name.display().to_string()).unwrap_or_default()
}

/// Removes containers and volumes of this user whose owner is gone.
pub(super) fn reap(client: &Client, uid: u32) -> Result<(), ApiError> {
    let mine = [format!("{UID}={uid}"), format!("{NAMESPACE}={}", namespace())];
    let orphans = client.list_containers(&mine, Deadline::quick())?.into_iter();
    let mut orphans: Vec<_> = orphans.filter(|listed| is_orphan(&listed.labels)).collect();
    // A daemon may refuse to remove a container whose network others share; those go first.
    orphans.sort_by_key(|listed| !listed.labels.contains_key(SERVICE));
    let mut answer = Ok(());
    for listed in orphans {
        if let Ok(id) = listed.id.parse() {
            // One that stays does not keep the others.
            answer = client.remove_container(&id, Deadline::quick()).and(answer);
        }
    }
    for volume in client.list_volumes(&mine, Deadline::quick())? {
        if let (true, Ok(name)) = (is_orphan(&volume.labels), volume.name.parse()) {
            answer = client.remove_volume(&name, Deadline::quick()).and(answer);
        }
    }
    answer
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
