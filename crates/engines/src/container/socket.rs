//! Where a daemon listens.

use super::api::{ApiVersion, Client, Deadline};
use super::kind::Kind;
use super::life::said;
use polder_engine::LaunchError;
use polder_facts::HostFacts;
use std::ffi::OsString;
use std::path::PathBuf;

/// The daemon, which has answered.
pub(super) fn connect(kind: Kind, host: &HostFacts) -> Result<Client, LaunchError> {
    let client = Client::new(path(kind, host)?, host.user.uid);
    let ping = client.ping(Deadline::quick()).map_err(|error| said("reach the daemon", error))?;
    let version = ping.version.unwrap_or(ApiVersion::OLDEST).min(ApiVersion::NEWEST);
    Ok(client.speak(version))
}

/// The path of its socket: what the caller's environment says, or where it usually is.
fn path(kind: Kind, host: &HostFacts) -> Result<PathBuf, LaunchError> {
    let variable = |name: &str| host.environment.get(&OsString::from(name)).filter(|value| !value.is_empty());
    let (name, usual) = match (kind, host.user.uid) {
        (Kind::Docker, _) => ("DOCKER_HOST", PathBuf::from("/var/run/docker.sock")),
        (Kind::Podman, 0) => ("CONTAINER_HOST", PathBuf::from("/run/podman/podman.sock")),
        (Kind::Podman, uid) => {
            let runtime = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
            let runtime = runtime.unwrap_or_else(|| PathBuf::from(format!("/run/user/{uid}")));
            ("CONTAINER_HOST", runtime.join("podman/podman.sock"))
        }
    };
    let Some(said) = variable(name) else { return Ok(usual) };
    match said.to_str().and_then(|text| text.strip_prefix("unix://")) {
        Some(path) if path.starts_with('/') => Ok(PathBuf::from(path)),
        _ => {
            let text = format!("{name} is `{}`: only a socket of this machine can be used", said.display());
            let remedy = format!("set {name} to `unix:///PATH`, or unset it");
            Err(crate::shimmed::setup(std::io::Error::other(text), Some(remedy)))
        }
    }
}
