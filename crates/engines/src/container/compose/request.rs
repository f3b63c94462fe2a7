//! From a service to what the daemon is asked for. Pure.
//!
//! No service has a capability, a way to get one, or more of the network than the command: it lives in the network of the
//! command's own container.

use super::model::{Mount, Service};
use crate::container::api::ObjectName;
use crate::container::kind::Kind;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// The most processes of a service for which nobody says a number.
const PIDS: u64 = 4096;

/// What holds for every service, whatever the file says: it can only ask for less.
pub(super) struct Ceiling {
    pub(super) memory_bytes: Option<u64>,
    pub(super) cpus: Option<f64>,
    pub(super) pids: Option<u64>,
    /// Of each place in memory.
    pub(super) scratch_bytes: u64,
    /// Whether the daemon can hold what is counted in cgroups.
    pub(super) held: bool,
}

/// What a service is made with, beside what the file says.
pub(super) struct Setting<'a> {
    pub(super) kind: Kind,
    /// The image, by its id.
    pub(super) image: &'a str,
    /// The container whose network it shares.
    pub(super) beside: &'a ObjectName,
    /// The volumes of this run, by their name in the file.
    pub(super) volumes: &'a BTreeMap<String, ObjectName>,
    pub(super) ceiling: &'a Ceiling,
    /// A table with the names of everybody on the loopback, on the host.
    pub(super) hosts: &'a Path,
    pub(super) runtime: Option<&'a str>,
    pub(super) labels: &'a BTreeMap<&'static str, String>,
}

pub(super) fn request(service: &Service, setting: &Setting<'_>) -> Value {
    let Setting { kind, image, beside, volumes, ceiling, hosts, runtime, labels } = setting;
    let volume = |mount: &Mount| {
        let mut said = json!({ "Type": "volume", "Target": mount.target, "ReadOnly": mount.read_only });
        if let Some(name) = mount.volume.as_ref().and_then(|name| volumes.get(name)) {
            said["Source"] = json!(name.as_str());
        }
        said
    };
    // Daemons differ in what table a container gets that shares another's network, and take no entries for it.
    let table = json!({ "Type": "bind", "Source": hosts.to_string_lossy(), "Target": "/etc/hosts", "ReadOnly": true });
    let mounts: Vec<Value> = [table].into_iter().chain(service.mounts.iter().map(volume)).collect();
    let in_memory = format!("mode=1777,nosuid,nodev,size={}", ceiling.scratch_bytes);
    let scratch: BTreeMap<&str, &str> = service.scratch.iter().map(|at| (at.as_str(), in_memory.as_str())).collect();
    // Short, so that a service that writes without an end does not fill the host's disk.
    let log = match kind {
        Kind::Docker => json!({ "Type": "json-file", "Config": { "max-size": "1m", "max-file": "1" } }),
        Kind::Podman => json!({ "Type": "k8s-file", "Config": { "max-size": "1m" } }),
    };
    let mut host = json!({
        "AutoRemove": false,
        "CapDrop": ["ALL"],
        "Init": false,
        "IpcMode": "private",
        "LogConfig": log,
        "Mounts": mounts,
        "NetworkMode": format!("container:{}", beside.as_str()),
        "Privileged": false,
        "ReadonlyRootfs": service.read_only,
        "RestartPolicy": { "Name": "no", "MaximumRetryCount": 0 },
        "SecurityOpt": ["no-new-privileges"],
        "Tmpfs": scratch,
    });
    let mut say = |key: &str, value: Value| host[key] = value;
    if ceiling.held {
        if let Some(bytes) = least(service.memory_bytes, ceiling.memory_bytes) {
            say("Memory", json!(bytes));
            say("MemorySwap", json!(bytes));
        }
        if let Some(cpus) = least(service.cpus, ceiling.cpus) {
            say("NanoCpus", json!((cpus * 1e9) as u64));
        }
        say("PidsLimit", json!(least(service.pids, ceiling.pids).unwrap_or(PIDS)));
    }
    if let Some(runtime) = runtime {
        say("Runtime", json!(runtime));
    }
    let env: Vec<String> = service.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut request = json!({
        "Image": image,
        "Env": env,
        "Labels": labels,
        "OpenStdin": false,
        "Tty": false,
        "HostConfig": host,
        // Polder asks by itself, in the same way whatever the daemon is.
        "Healthcheck": match kind {
            Kind::Docker => json!({ "Test": ["NONE"] }),
            Kind::Podman => json!({}),
        },
    });
    if let Some(command) = &service.command {
        request["Cmd"] = json!(command);
    }
    if let Some(entrypoint) = &service.entrypoint {
        request["Entrypoint"] = json!(entrypoint);
    }
    if let Some(user) = &service.user {
        request["User"] = json!(user);
    }
    if let Some(workdir) = &service.workdir {
        request["WorkingDir"] = json!(workdir);
    }
    request
}

/// The smaller of two bounds, either of which may be absent.
fn least<T: PartialOrd>(said: Option<T>, ceiling: Option<T>) -> Option<T> {
    match (said, ceiling) {
        (Some(said), Some(ceiling)) => Some(if ceiling < said { ceiling } else { said }),
        (said, ceiling) => said.or(ceiling),
    }
}

#[cfg(test)]
mod tests;
