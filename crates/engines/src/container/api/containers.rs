//! Containers: making, starting, watching and removing them.

use super::client::{Client, Method, Sent, json, whole};
use super::deadline::Deadline;
use super::error::{ApiError, readable};
use super::names::ObjectName;
use super::stream::{Attached, Channel, Demux};
use super::target::Target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// A container that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Created {
    pub(crate) id: ObjectName,
    /// What the daemon could not do as it was told. A guarantee that rests on it does not hold.
    pub(crate) warnings: Vec<String>,
}

/// What a daemon knows of a container.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Inspected {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The id of its image.
    pub(crate) image: String,
    pub(crate) state: ContainerState,
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub(crate) mounts: Vec<Mounted>,
}

/// How a container is doing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ContainerState {
    /// `created`, `running`, `paused`, `restarting`, `removing`, `exited`, `dead`.
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) running: bool,
    /// Its first process as the daemon sees it, or 0.
    #[serde(default)]
    pub(crate) pid: i64,
    #[serde(default)]
    pub(crate) exit_code: i64,
    #[serde(default, rename = "OOMKilled")]
    pub(crate) oom_killed: bool,
    /// Why it did not start.
    #[serde(default)]
    pub(crate) error: String,
    /// How it is doing in its own opinion, where its image or recipe says how to ask.
    #[serde(default)]
    pub(crate) health: Option<Health>,
}

/// A container's opinion of itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Health {
    /// `none`, `starting`, `healthy`, `unhealthy`.
    pub(crate) status: String,
}

/// Something mounted in a container.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Mounted {
    #[serde(rename = "Type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) source: String,
    pub(crate) destination: String,
    #[serde(default, rename = "RW")]
    pub(crate) writable: bool,
}

/// A container in a list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Listed {
    pub(crate) id: String,
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) state: String,
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) code: i64,
    /// Why waiting failed, in the daemon's words.
    pub(crate) error: Option<String>,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitFor {
    /// That it does not run; one that was never started does not.
    NotRunning,
    /// That it ends the next time.
    NextExit,
    /// That it is gone.
    Removed,
}

/// What a container wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Logs {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CreatedWire {
    id: String,
    warnings: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct WaitedWire {
    status_code: i64,
    error: Option<WaitErrorWire>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct WaitErrorWire {
    message: Option<String>,
}

/// How often a container is removed that a daemon is at work on, and how long it is left alone between.
const REMOVALS_MAX: u32 = 50;
const REMOVAL_PAUSE: Duration = Duration::from_millis(100);
/// The longest archive of one file that is taken.
const ARCHIVE_BYTES_MAX: u64 = 1024 * 1024;
/// The longest log that is read.
const LOG_BYTES_MAX: u64 = 1024 * 1024;

impl Client {
    /// Makes a container from a description in the daemon's own form.
    pub(crate) fn create_container(
        &self,
        name: &ObjectName,
        description: &impl Serialize,
        deadline: Deadline,
    ) -> Result<Created, ApiError> {
        let target = Target::fixed("/containers/create").with("name", name.as_str());
        let made: CreatedWire = self.value(Method::Post, &target, json(description), deadline)?;
        let id = made.id.parse().map_err(|_| ApiError::Garbled {
            doing: "POST /containers/create".to_owned(),
            what: "an id that is none",
        })?;
        let warnings = made.warnings.unwrap_or_default();
        Ok(Created { id, warnings: warnings.iter().map(|warning| readable(warning)).collect() })
    }

    /// Starts it; one that runs already is left alone.
    pub(crate) fn start_container(&self, id: &ObjectName, deadline: Deadline) -> Result<(), ApiError> {
        self.done(Method::Post, &Target::object("/containers", id, "/start"), Sent::Nothing, deadline)
    }

    /// What the daemon knows of it.
    pub(crate) fn inspect_container(&self, id: &ObjectName, deadline: Deadline) -> Result<Inspected, ApiError> {
        self.ask(&Target::object("/containers", id, "/json"), deadline)
    }

    /// Waits for it, at most until the deadline.
    pub(crate) fn wait_container(
        &self,
        id: &ObjectName,
        what: WaitFor,
        deadline: Deadline,
    ) -> Result<Waited, ApiError> {
        let condition = match what {
            WaitFor::NotRunning => "not-running",
            WaitFor::NextExit => "next-exit",
            WaitFor::Removed => "removed",
        };
        let target = Target::object("/containers", id, "/wait").with("condition", condition);
        let waited: WaitedWire = self.value(Method::Post, &target, Sent::Nothing, deadline)?;
        let error = waited.error.and_then(|error| error.message).filter(|text| !text.is_empty());
        Ok(Waited { code: waited.status_code, error: error.map(|text| readable(&text)) })
    }

    /// Sends a signal to its first process.
    pub(crate) fn kill_container(&self, id: &ObjectName, signal: i32, deadline: Deadline) -> Result<(), ApiError> {
        let target = Target::object("/containers", id, "/kill").with("signal", &signal.to_string());
        self.done(Method::Post, &target, Sent::Nothing, deadline)
    }

    /// Ends and removes it with its anonymous volumes. One that is gone, or on its way, is no error.
    pub(crate) fn remove_container(&self, id: &ObjectName, deadline: Deadline) -> Result<(), ApiError> {
        let mut tries = 1;
        loop {
            match self.remove_once(id, deadline) {
                // One daemon says so of a container that ends by itself at this moment, and removes it in another one.
                Err(error) if error.is_momentary() && tries < REMOVALS_MAX => {
                    tries += 1;
                    std::thread::sleep(REMOVAL_PAUSE);
                }
                answer => return answer,
            }
        }
    }

    fn remove_once(&self, id: &ObjectName, deadline: Deadline) -> Result<(), ApiError> {
        let target = Target::object("/containers", id, "").with("force", "1").with("v", "1");
        match self.done(Method::Delete, &target, Sent::Nothing, deadline) {
            Err(error) if error.is_absent() => Ok(()),
            Err(error) if error.is_conflict() => {
                // Somebody else removes it at this moment: wait until that is done.
                match self.wait_container(id, WaitFor::Removed, deadline) {
                    Ok(_) => Ok(()),
                    Err(gone) if gone.is_absent() => Ok(()),
                    Err(_) => Err(error),
                }
            }
            answer => answer,
        }
    }

    /// The containers that have all these labels, `name` or `name=value`, whatever they do.
    pub(crate) fn list_containers(&self, labels: &[String], deadline: Deadline) -> Result<Vec<Listed>, ApiError> {
        let target = Target::fixed("/containers/json").with("all", "1").with("filters", &by_labels(labels));
        self.ask(&target, deadline)
    }

    /// Its streams, both ways. The deadline is for getting them, not for using them.
    pub(crate) fn attach_container(&self, id: &ObjectName, deadline: Deadline) -> Result<Attached, ApiError> {
        let target = Target::object("/containers", id, "/attach").with("stream", "1").with("stdin", "1");
        self.attach(&target.with("stdout", "1").with("stderr", "1"), Vec::new(), deadline)
    }

    /// A file of it as an archive, whether it runs or not; a symbolic link is not followed.
    pub(crate) fn container_archive(
        &self,
        id: &ObjectName,
        path: &str,
        deadline: Deadline,
    ) -> Result<Vec<u8>, ApiError> {
        let target = Target::object("/containers", id, "/archive").with("path", path);
        let answer = self.send(Method::Get, &target, Sent::Nothing, deadline)?;
        whole(answer.body, "GET /containers/…/archive", ARCHIVE_BYTES_MAX)
    }

    /// Whether it has a file or a directory at a path.
    pub(crate) fn container_has(&self, id: &ObjectName, path: &str, deadline: Deadline) -> Result<bool, ApiError> {
        let target = Target::object("/containers", id, "/archive").with("path", path);
        match self.done(Method::Head, &target, Sent::Nothing, deadline) {
            Ok(()) => Ok(true),
            Err(error) if error.is_absent() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The last lines that it wrote; its log must not be longer than a megabyte, and it must have no terminal.
    pub(crate) fn container_logs(&self, id: &ObjectName, lines: u32, deadline: Deadline) -> Result<Logs, ApiError> {
        let target = Target::object("/containers", id, "/logs").with("stdout", "1").with("stderr", "1");
        let target = target.with("tail", &lines.to_string());
        let answer = self.send(Method::Get, &target, Sent::Nothing, deadline)?;
        let bytes = whole(answer.body, "GET /containers/…/logs", LOG_BYTES_MAX)?;
        let mut logs = Logs { stdout: Vec::new(), stderr: Vec::new() };
        let mut demux = Demux::new();
        let split = demux.feed(&bytes, &mut |channel, bytes| match channel {
            Channel::Stdout => logs.stdout.extend_from_slice(bytes),
            Channel::Stderr => logs.stderr.extend_from_slice(bytes),
        });
        split.map_err(|what| ApiError::Garbled { doing: "GET /containers/…/logs".to_owned(), what })?;
        Ok(logs)
    }
}

/// The filter for things with all these labels.
pub(super) fn by_labels(labels: &[String]) -> String {
    serde_json::json!({ "label": labels }).to_string()
}

/// Daemons write `null` for an empty list.
pub(super) fn nothing_is_empty<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}
