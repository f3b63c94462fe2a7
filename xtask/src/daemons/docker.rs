//! Docker, with everything it owns in the run's directory, and without a hand on the host's network.

use super::keeper::{self, Started};
use super::place::Place;
use crate::machine;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runtimes beside the usual one, where they are installed, and what they need to be told. The last has the name of one with
/// a kernel of its own, and has none.
const RUNTIMES: [(&str, &str, &[&str]); 2] = [
    ("runsc", machine::RUNSC, &["--platform=ptrace", "--network=none"]),
    ("runsc-without-a-kernel", "/usr/sbin/runc", &[]),
];

pub(super) fn start(place: &Place) -> Result<Started, String> {
    let at = |name: &str| place.path().join(name);
    let (socket, log, config) = (at("docker.sock"), at("docker.log"), at("docker.json"));
    let runtimes: serde_json::Map<_, _> = RUNTIMES
        .iter()
        .filter(|(_, path, _)| Path::new(path).exists())
        .map(|(name, path, args)| ((*name).to_owned(), serde_json::json!({ "path": path, "runtimeArgs": args })))
        .collect();
    let settings = serde_json::json!({
        // The host's firewall and routes stay as they are.
        "bridge": "none",
        "iptables": false,
        "ip6tables": false,
        "ip-forward": false,
        // What is left in it at the end is ours.
        "cgroup-parent": format!("/{}", place.name()),
        "shutdown-timeout": 2,
        "runtimes": runtimes,
    });
    fs::write(&config, settings.to_string()).map_err(|error| format!("cannot write {}: {error}", config.display()))?;
    let mut command = Command::new("dockerd");
    command.arg("--config-file").arg(&config);
    command.arg("--data-root").arg(at("docker-data")).arg("--exec-root").arg(at("docker-exec"));
    command.arg("--pidfile").arg(at("docker.pid")).arg("--host").arg(format!("unix://{}", socket.display()));
    // The ordinary user's tests talk to it too.
    command.arg("--group").arg(machine::USER);
    let process = keeper::launch(place, &command, &log)?;
    Ok(Started { name: keeper::DOCKER, process, socket, log })
}
