//! Asking a daemon what it is.

use super::client::{Client, Method, Sent, whole};
use super::deadline::Deadline;
use super::error::{ApiError, readable};
use super::head::decimal;
use super::target::Target;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// The version of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ApiVersion {
    pub(crate) major: u16,
    pub(crate) minor: u16,
}

impl ApiVersion {
    /// The oldest that has everything which is asked for here: Docker 19.03, Podman 3.
    pub(crate) const OLDEST: Self = Self { major: 1, minor: 40 };
    /// The newest that was read about.
    pub(crate) const NEWEST: Self = Self { major: 1, minor: 47 };

    /// Reads `1.41`; a third number, which some daemons add, is left out.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|part| decimal(part).and_then(|number| u16::try_from(number).ok()));
        Some(Self { major: numbers.next()??, minor: numbers.next()?? })
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A daemon's first word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ping {
    /// The newest version that it speaks, where it says so.
    pub(crate) version: Option<ApiVersion>,
    /// What serves, in its own words, such as `Libpod/4.3.1`.
    pub(crate) server: String,
}

/// What a daemon says about itself, as far as it matters to a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DaemonFacts {
    /// The version of the program.
    pub(crate) program: String,
    /// Whether it is Podman behind the same interface.
    pub(crate) is_podman: bool,
    /// The oldest and the newest version of the interface that it speaks.
    pub(crate) oldest: ApiVersion,
    pub(crate) newest: ApiVersion,
    /// The system and the processor of its containers.
    pub(crate) system: String,
    pub(crate) processor: String,
    /// Whether it runs as an ordinary user.
    pub(crate) rootless: bool,
    /// `cgroupfs` or `systemd`, and the version of the cgroups.
    pub(crate) cgroup_driver: String,
    pub(crate) cgroup_version: String,
    /// The limits that it can set here.
    pub(crate) limits_memory: bool,
    pub(crate) limits_pids: bool,
    pub(crate) limits_cpus: bool,
    /// What a container can be started by, and what starts it when nobody says.
    pub(crate) runtimes: Vec<String>,
    pub(crate) default_runtime: String,
    /// `seccomp`, `apparmor`, `rootless`, `userns`, `cgroupns`.
    pub(crate) security: Vec<String>,
    /// The driver of its layers.
    pub(crate) storage: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct VersionWire {
    version: Option<String>,
    api_version: Option<String>,
    #[serde(rename = "MinAPIVersion")]
    min_api_version: Option<String>,
    os: Option<String>,
    arch: Option<String>,
    components: Option<Vec<ComponentWire>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ComponentWire {
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct InfoWire {
    cgroup_driver: Option<String>,
    cgroup_version: Option<String>,
    memory_limit: Option<bool>,
    pids_limit: Option<bool>,
    #[serde(rename = "CpuCfsQuota")]
    cpu_cfs_quota: Option<bool>,
    runtimes: Option<BTreeMap<String, serde_json::Value>>,
    default_runtime: Option<String>,
    security_options: Option<Vec<String>>,
    driver: Option<String>,
    rootless: Option<bool>,
}

/// The longest answer to a ping.
const PING_BYTES_MAX: u64 = 1024;

impl Client {
    /// Whether a daemon answers.
    pub(crate) fn ping(&self, deadline: Deadline) -> Result<Ping, ApiError> {
        let target = Target::fixed("/_ping");
        let answer = self.send(Method::Get, &target, Sent::Nothing, deadline)?;
        let version = answer.head.api_version.as_deref().and_then(ApiVersion::parse);
        let server = readable(answer.head.server.as_deref().unwrap_or_default());
        whole(answer.body, "GET /_ping", PING_BYTES_MAX)?;
        Ok(Ping { version, server })
    }

    /// What the daemon is and can do.
    pub(crate) fn facts(&self, deadline: Deadline) -> Result<DaemonFacts, ApiError> {
        let version: VersionWire = self.ask(&Target::fixed("/version"), deadline)?;
        let info: InfoWire = self.ask(&Target::fixed("/info"), deadline)?;
        facts(version, info)
    }
}

fn facts(version: VersionWire, info: InfoWire) -> Result<DaemonFacts, ApiError> {
    let VersionWire { version, api_version, min_api_version, os, arch, components } = version;
    let InfoWire {
        cgroup_driver,
        cgroup_version,
        memory_limit,
        pids_limit,
        cpu_cfs_quota,
        runtimes,
        default_runtime,
        security_options,
        driver,
        rootless,
    } = info;
    let newest = api_version.as_deref().and_then(ApiVersion::parse);
    let newest =
        newest.ok_or(ApiError::Garbled { doing: "GET /version".to_owned(), what: "no version of its interface" })?;
    let words = |text: Option<String>| readable(&text.unwrap_or_default());
    let security: Vec<String> = security_options.unwrap_or_default().iter().map(|option| security(option)).collect();
    let is_podman = components.unwrap_or_default().iter().any(|part| part.name.as_deref() == Some("Podman Engine"));
    Ok(DaemonFacts {
        program: words(version),
        is_podman,
        oldest: min_api_version.as_deref().and_then(ApiVersion::parse).unwrap_or(ApiVersion { major: 1, minor: 24 }),
        newest,
        system: words(os),
        processor: words(arch),
        rootless: rootless.unwrap_or(false) || security.iter().any(|name| name == "rootless"),
        cgroup_driver: words(cgroup_driver),
        // Daemons of before cgroup v2 do not say it.
        cgroup_version: cgroup_version.map_or_else(|| "1".to_owned(), |text| readable(&text)),
        limits_memory: memory_limit.unwrap_or(false),
        limits_pids: pids_limit.unwrap_or(false),
        limits_cpus: cpu_cfs_quota.unwrap_or(false),
        runtimes: runtimes.unwrap_or_default().into_keys().map(|name| readable(&name)).collect(),
        default_runtime: words(default_runtime),
        security,
        storage: words(driver),
    })
}

/// `name=seccomp,profile=default` is `seccomp`.
fn security(option: &str) -> String {
    let name = option.split(',').find_map(|pair| pair.strip_prefix("name="));
    readable(name.unwrap_or(option))
}

#[cfg(test)]
mod tests;
