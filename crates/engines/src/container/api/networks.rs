//! Networks of containers.

use super::client::{Client, Method, Sent, json};
use super::containers::{by_labels, nothing_is_empty};
use super::deadline::Deadline;
use super::error::ApiError;
use super::names::ObjectName;
use super::target::Target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A network in a list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct NetworkFacts {
    pub(crate) name: String,
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) internal: bool,
    #[serde(default, deserialize_with = "nothing_is_empty")]
    pub(crate) labels: BTreeMap<String, String>,
}

/// Whether a network leads anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Only its own containers.
    Internal,
    /// The world, through the host.
    Outside,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct NewWire<'a> {
    name: &'a str,
    check_duplicate: bool,
    driver: &'static str,
    internal: bool,
    labels: &'a BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MadeWire {
    id: String,
}

impl Client {
    /// Makes a network, and says its id.
    pub(crate) fn create_network(
        &self,
        name: &ObjectName,
        reach: Reach,
        labels: &BTreeMap<String, String>,
        deadline: Deadline,
    ) -> Result<ObjectName, ApiError> {
        let internal = reach == Reach::Internal;
        let new = NewWire { name: name.as_str(), check_duplicate: true, driver: "bridge", internal, labels };
        let made: MadeWire = self.value(Method::Post, &Target::fixed("/networks/create"), json(&new), deadline)?;
        let garbled = |_| ApiError::Garbled { doing: "POST /networks/create".to_owned(), what: "an id that is none" };
        made.id.parse().map_err(garbled)
    }

    /// Removes a network; one that is gone is no error.
    pub(crate) fn remove_network(&self, name: &ObjectName, deadline: Deadline) -> Result<(), ApiError> {
        match self.done(Method::Delete, &Target::object("/networks", name, ""), Sent::Nothing, deadline) {
            Err(error) if error.is_absent() => Ok(()),
            answer => answer,
        }
    }

    /// The networks that have all these labels.
    pub(crate) fn list_networks(&self, labels: &[String], deadline: Deadline) -> Result<Vec<NetworkFacts>, ApiError> {
        let target = Target::fixed("/networks").with("filters", &by_labels(labels));
        self.ask(&target, deadline)
    }
}
