//! Images: asking about them, getting, building, naming and removing them.

use super::client::{Client, Method, Sent, doing};
use super::containers::nothing_is_empty;
use super::deadline::Deadline;
use super::error::ApiError;
use super::names::ImageName;
use super::progress::{Progress, follow};
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
    config: Option<ConfigWire>,
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
        let ImageWire { id, os, architecture, config } =
            self.value(Method::Get, &Target::image(name, "/json"), Sent::Nothing, deadline)?;
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
        })
    }

    /// Gets an image from where it is published.
    pub(crate) fn pull_image(
        &self,
        name: &ImageName,
        deadline: Deadline,
        heard: &mut dyn FnMut(Progress),
    ) -> Result<(), ApiError> {
        let target = Target::fixed("/images/create").with("fromImage", name.repository());
        let target = target.with("tag", name.reference());
        let answer = self.send(Method::Post, &target, Sent::Nothing, deadline)?;
        follow(answer.body, &doing(Method::Post, &target), heard)
    }

    /// Builds an image from an archive.
    pub(crate) fn build_image(
        &self,
        options: &BuildOptions,
        archive: &mut dyn Read,
        deadline: Deadline,
        heard: &mut dyn FnMut(Progress),
    ) -> Result<(), ApiError> {
        let target = build_target(options);
        let answer = self.send(Method::Post, &target, Sent::Archive(archive), deadline)?;
        follow(answer.body, &doing(Method::Post, &target), heard)
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

fn build_target(options: &BuildOptions) -> Target {
    let BuildOptions { tag, recipe, network, bases, labels } = options;
    let network = match network {
        BuildNetwork::None => "none",
        BuildNetwork::Usual => "default",
    };
    let target = Target::fixed("/build").with("t", &tag.to_string()).with("dockerfile", recipe);
    // The containers of the steps go, also those of a step that failed.
    let target = target.with("rm", "1").with("forcerm", "1").with("networkmode", network);
    let target = match bases {
        Bases::Missing => target,
        Bases::Always => target.with("pull", "1"),
    };
    target.with("labels", &serde_json::json!(labels).to_string())
}

#[cfg(test)]
mod tests;
