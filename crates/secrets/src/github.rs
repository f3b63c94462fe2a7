//! A token for GitHub as variables: `gh` reads two of them, and git rewrites the addresses of the host by its own
//! configuration from variables. No file is written and nobody's configuration is changed.

use crate::secret::Secret;
use std::collections::BTreeMap;

const COUNT: &str = "GIT_CONFIG_COUNT";
/// The most entries that are believed to be there.
const ENTRIES_MAX: usize = 1000;

/// The variables that give a run this token for these hosts. `inside` are the variables that the run has anyway: entries of
/// git's that are among them are kept, and entries of ours are replaced, so doing it again changes nothing.
pub fn place(
    token: &Secret<String>,
    hosts: &[String],
    inside: &BTreeMap<String, String>,
) -> BTreeMap<String, Secret<String>> {
    let mut placed = BTreeMap::new();
    for name in ["GITHUB_TOKEN", "GH_TOKEN"] {
        placed.insert(name.to_owned(), Secret::new(token.reveal().clone()));
    }
    let theirs = entries(inside);
    let mut all: Vec<(String, String)> = theirs.into_iter().filter(|(key, _)| !is_ours(key, hosts)).collect();
    for host in hosts.iter().filter(|host| !host.starts_with("api.")) {
        let key = format!("url.https://x-access-token:{}@{host}/.insteadOf", token.reveal());
        for address in [format!("https://{host}/"), format!("git@{host}:"), format!("ssh://git@{host}/")] {
            all.push((key.clone(), address));
        }
    }
    placed.insert(COUNT.to_owned(), Secret::new(all.len().to_string()));
    for (index, (key, value)) in all.into_iter().enumerate() {
        placed.insert(format!("GIT_CONFIG_KEY_{index}"), Secret::new(key));
        placed.insert(format!("GIT_CONFIG_VALUE_{index}"), Secret::new(value));
    }
    placed
}

/// What git would read from variables.
fn entries(inside: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let count = inside.get(COUNT).and_then(|count| count.parse().ok()).unwrap_or(0usize).min(ENTRIES_MAX);
    let entry = |index: usize| {
        let key = inside.get(&format!("GIT_CONFIG_KEY_{index}"))?;
        Some((key.clone(), inside.get(&format!("GIT_CONFIG_VALUE_{index}"))?.clone()))
    };
    (0..count).filter_map(entry).collect()
}

fn is_ours(key: &str, hosts: &[String]) -> bool {
    let rest = key.strip_prefix("url.https://x-access-token:").and_then(|rest| rest.strip_suffix("/.insteadOf"));
    rest.and_then(|rest| rest.rsplit_once('@')).is_some_and(|(_, host)| hosts.iter().any(|known| known == host))
}

#[cfg(test)]
mod tests;
