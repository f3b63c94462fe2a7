//! Images: asking about them, getting, building, naming and removing them.

use super::client::{Client, Dialect, Method, Sent, doing};
use super::containers::{by_labels, nothing_is_empty};
use super::deadline::Deadline;
use super::error::ApiError;
use super::names::ImageName;
use super::progress::{Hearing, follow};
use super::target::Target;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Read;

/// What a daemon knows of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImageFacts {
    /// `sha256:…`
    pub(crate) id: String,
    pub(crate) system: String,
    pub(crate) processor: String,
    /// `NAME=value`, in the image's order.
    pub(crate) env: Vec<String>,
    /// Who runs, as the image wants it; empty for root.
    pub(crate) user: String,
    pub(crate) workdir: String,
    pub(crate) entrypoint: Vec<String>,
    pub(crate) command: Vec<String>,
    pub(crate) labels: BTreeMap<String, String>,
    /// Places that the image wants to be volumes.
    pub(crate) volumes: Vec<String>,
    /// The names that it has.
    pub(crate) names: Vec<String>,
    /// When it was made: a time of RFC 3339 with a fraction of the second.
    pub(crate) created: String,
}

/// What a daemon knows of an image that a build begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaseFacts {
    pub(crate) id: String,
    /// `linux/amd64`
    pub(crate) platform: String,
    /// The instructions that it adds to every build that begins with it.
    pub(crate) triggers: Vec<String>,
}

/// An image in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedImage {
    pub(crate) id: String,
    /// Since 1970.
    pub(crate) created_seconds: i64,
    /// The names that it has.
    pub(crate) names: Vec<String>,
}

/// How an image is built. Its recipe is a file of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BuildOptions {
    /// Its name.
    pub(crate) tag: ImageName,
    /// The recipe's name in the archive.
    pub(crate) recipe: String,
    /// Whether its steps reach a network.
    pub(crate) network: BuildNetwork,
    /// Whether newer base images are looked for.
    pub(crate) bases: Bases,
    pub(crate) labels: BTreeMap<String, String>,
}

/// Whether the steps of a build reach a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuildNetwork {
    None,
    /// The daemon's usual one.
    Usual,
}

/// What a build does about the images that it starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bases {
    /// Takes those that are there, and gets the others.
    Missing,
    /// Asks for newer ones.
    Always,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ImageWire {
    id: String,
    os: Option<String>,
    architecture: Option<String>,
    created: Option<String>,
    config: Option<ConfigWire>,
    #[serde(default, deserialize_with = "nothing_is_empty")]
    repo_tags: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BaseWire {
    id: String,
    os: Option<String>,
    architecture: Option<String>,
    config: Option<TriggersWire>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct TriggersWire {
    #[serde(deserialize_with = "nothing_is_empty")]
    on_build: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListedWire {
    id: String,
    created: Option<i64>,
    #[serde(default, deserialize_with = "nothing_is_empty")]
    repo_tags: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ConfigWire {
    #[serde(deserialize_with = "nothing_is_empty")]
    env: Vec<String>,
    #[serde(deserialize_with = "nothing_is_empty")]
    user: String,
    #[serde(deserialize_with = "nothing_is_empty")]
    working_dir: String,
    #[serde(deserialize_with = "nothing_is_empty")]
    entrypoint: Vec<String>,
    #[serde(deserialize_with = "nothing_is_empty")]
    cmd: Vec<String>,
    #[serde(deserialize_with = "nothing_is_empty")]
    labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "nothing_is_empty")]
    volumes: BTreeMap<String, serde_json::Value>,
}

impl Client {
    /// What the daemon knows of an image; [`ApiError::is_absent`] where it has none of this name.
    pub(crate) fn inspect_image(&self, name: &ImageName, deadline: Deadline) -> Result<ImageFacts, ApiError> {
        let ImageWire { id, os, architecture, created, config, repo_tags } =
            self.ask(&Target::image(name, "/json"), deadline)?;
        let ConfigWire { env, user, working_dir, entrypoint, cmd, labels, volumes } = config.unwrap_or_default();
        Ok(ImageFacts {
            id: if id.starts_with("sha256:") { id } else { format!("sha256:{id}") },
            system: os.unwrap_or_default(),
            processor: architecture.unwrap_or_default(),
            env,
            user,
            workdir: working_dir,
            entrypoint,
            command: cmd,
            labels,
            volumes: volumes.into_keys().collect(),
            names: repo_tags,
            created: created.unwrap_or_default(),
        })
    }

    /// The image that a build would begin with at this name; nothing where the daemon would have to get it.
    pub(crate) fn find_base(&self, name: &ImageName, deadline: Deadline) -> Result<Option<BaseFacts>, ApiError> {
        let target = match self.dialect() {
            Dialect::Docker => Target::image(name, "/json"),
            // A build of Podman's takes a short name for one of this machine's, where Docker's interface would add a registry.
            Dialect::Podman => Target::own_image(name, "/json"),
        };
        match self.ask(&target, deadline) {
            Ok(BaseWire { id, os, architecture, config }) => {
                let platform = format!("{}/{}", os.unwrap_or_default(), architecture.unwrap_or_default());
                Ok(Some(BaseFacts { id, platform, triggers: config.unwrap_or_default().on_build }))
            }
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All images that have these labels, also those that nobody named.
    pub(crate) fn list_images(&self, labels: &[String], deadline: Deadline) -> Result<Vec<ListedImage>, ApiError> {
        let target = Target::fixed("/images/json").with("all", "1").with("filters", &by_labels(labels));
        let list: Vec<ListedWire> = self.ask(&target, deadline)?;
        let listed = |ListedWire { id, created, repo_tags }| ListedImage {
            id,
            created_seconds: created.unwrap_or(0),
            names: repo_tags,
        };
        Ok(list.into_iter().map(listed).collect())
    }

    /// Removes an image by its id, with the unnamed ones below it, if it has no name: one that has belongs to somebody.
    pub(crate) fn remove_unnamed_image(&self, id: &str, deadline: Deadline) -> Result<(), ApiError> {
        // An id is a name that needs no escape, and nothing else is taken.
        let Ok(name) = id.parse::<ImageName>() else { return Ok(()) };
        if self.inspect_image(&name, deadline)?.names.is_empty() { self.remove_image(&name, deadline) } else { Ok(()) }
    }

    /// Gets an image from where it is published.
    pub(crate) fn pull_image(
        &self,
        name: &ImageName,
        deadline: Deadline,
        hearing: &mut Hearing<'_>,
    ) -> Result<(), ApiError> {
        let target = Target::fixed("/images/create").with("fromImage", name.repository());
        let target = target.with("tag", name.reference());
        let answer = self.send_heard(Method::Post, &target, Sent::Nothing, deadline, hearing)?;
        follow(answer.body, &doing(Method::Post, &target), hearing)
    }

    /// Builds an image from an archive.
    pub(crate) fn build_image(
        &self,
        options: &BuildOptions,
        archive: &mut dyn Read,
        deadline: Deadline,
        hearing: &mut Hearing<'_>,
    ) -> Result<(), ApiError> {
        let target = build_target(options, self.dialect());
        let answer = self.send_heard(Method::Post, &target, Sent::Archive(archive), deadline, hearing)?;
        follow(answer.body, &doing(Method::Post, &target), hearing)
    }

    /// Gives an image one more name.
    pub(crate) fn tag_image(&self, name: &ImageName, new: &ImageName, deadline: Deadline) -> Result<(), ApiError> {
        let target = Target::image(name, "/tag").with("repo", new.repository()).with("tag", new.reference());
        self.done(Method::Post, &target, Sent::Nothing, deadline)
    }

    /// Takes a name from an image, and removes what nobody names any more. One that is gone is no error.
    pub(crate) fn remove_image(&self, name: &ImageName, deadline: Deadline) -> Result<(), ApiError> {
        match self.done(Method::Delete, &Target::image(name, ""), Sent::Nothing, deadline) {
            Err(error) if error.is_absent() => Ok(()),
            answer => answer,
        }
    }
}

/// Podman's words for a network that is not the host's.
const OWN_NETWORK: &str = r#"[{"Name":"network","Host":false,"Path":""}]"#;

fn build_target(options: &BuildOptions, dialect: Dialect) -> Target {
    let BuildOptions { tag, recipe, network, bases, labels } = options;
    let target = Target::fixed("/build").with("t", &tag.to_string()).with("dockerfile", recipe);
    // The containers of the steps go, also those of a step that failed.
    let target = target.with("rm", "1").with("forcerm", "1");
    let target = match network {
        BuildNetwork::Usual => target.with("networkmode", "default"),
        BuildNetwork::None => match dialect {
            Dialect::Docker => target.with("networkmode", "none"),
            // Podman reads Docker's word as one that it does not know, and builds in the host's own network.
            Dialect::Podman => target.with("networkmode", "NetworkDisabled").with("nsoptions", OWN_NETWORK),
        },
    };
    let target = match bases {
        Bases::Missing => target,
        Bases::Always => target.with("pull", "1"),
    };
    target.with("labels", &serde_json::json!(labels).to_string())
}

#[cfg(test)]
mod tests;
