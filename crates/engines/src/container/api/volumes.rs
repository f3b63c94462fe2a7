//! Volumes: directories that a daemon keeps.

use super::client::{Client, Method, Sent, json};
use super::containers::{by_labels, nothing_is_empty};
use super::deadline::Deadline;
use super::error::ApiError;
use super::names::ObjectName;
use super::target::Target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a daemon knows of a volume.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct VolumeFacts {
    pub(crate) name: String,
    /// When it was made, as the daemon writes times.
    #[serde(default)]
    pub(crate) created_at: String,
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub(crate) labels: BTreeMap<String, String>,
    /// Where the daemon keeps it, as the daemon sees it.
    #[serde(default)]
    pub(crate) mountpoint: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct NewWire<'a> {
    name: &'a str,
    driver: &'static str,
    labels: &'a BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListWire {
    volumes: Option<Vec<VolumeFacts>>,
}

impl Client {
    /// Makes a volume; one that is there with this name is left as it is, with the labels that it has.
    pub(crate) fn create_volume(
        &self,
        name: &ObjectName,
        labels: &BTreeMap<String, String>,
        deadline: Deadline,
    ) -> Result<VolumeFacts, ApiError> {
        let new = NewWire { name: name.as_str(), driver: "local", labels };
        self.value(Method::Post, &Target::fixed("/volumes/create"), json(&new), deadline)
    }

    /// What the daemon knows of it.
    pub(crate) fn inspect_volume(&self, name: &ObjectName, deadline: Deadline) -> Result<VolumeFacts, ApiError> {
        self.ask(&Target::object("/volumes", name, ""), deadline)
    }

    /// Removes a volume; one that is gone is no error, one that a container uses is.
    pub(crate) fn remove_volume(&self, name: &ObjectName, deadline: Deadline) -> Result<(), ApiError> {
        match self.done(Method::Delete, &Target::object("/volumes", name, ""), Sent::Nothing, deadline) {
            Err(error) if error.is_absent() => Ok(()),
            answer => answer,
        }
    }

    /// The volumes that have all these labels.
    pub(crate) fn list_volumes(&self, labels: &[String], deadline: Deadline) -> Result<Vec<VolumeFacts>, ApiError> {
        let target = Target::fixed("/volumes").with("filters", &by_labels(labels));
        let list: ListWire = self.ask(&target, deadline)?;
        Ok(list.volumes.unwrap_or_default())
    }
}
