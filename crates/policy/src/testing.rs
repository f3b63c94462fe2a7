//! What the tests of this crate share: sample engines, sample places, and one function per stage.

use crate::*;
use polder_facts::HostPath;
use std::path::Path;

pub(crate) const HOME: &str = "/home/u";

pub(crate) fn vocabulary() -> Vocabulary {
    let engine = |id, aliases, takes_image| {
        let strength = if id == "seatbelt" { 1 } else { 2 };
        EngineName { id, aliases, takes_image, strength, unsandboxed: false }
    };
    Vocabulary {
        engines: vec![
            engine("native", &[], false),
            engine("bubblewrap", &["bwrap"], false),
            engine("seatbelt", &[], false),
            engine("docker", &["container"], true),
            engine("firejail", &[], false),
            engine("nsjail", &[], false),
            engine("vm", &[], true),
            EngineName { id: "none", aliases: &["unsandboxed"], takes_image: false, strength: 0, unsandboxed: true },
        ],
        image_engine: "docker",
        auto_strength: 2,
    }
}

pub(crate) fn scope() -> Scope {
    let path = |path: &str| HostPath::new(path).unwrap();
    Scope { home: path(HOME), workspace_root: path("/repo"), working_dir: path("/repo/sub") }
}

pub(crate) fn parsed(name: &str, text: &str, level: Level) -> Result<Document, Faults> {
    parse(&Source::new(format!("/repo/{name}"), text, level), &vocabulary(), Path::new(HOME))
}

/// The document of a user's own file.
pub(crate) fn document(name: &str, text: &str) -> Document {
    match parsed(name, text, Level::Explicit) {
        Ok(document) => document,
        Err(faults) => panic!("{faults}\n{text}"),
    }
}

/// The faults of a user's own file, without the directory.
pub(crate) fn faults(name: &str, text: &str) -> String {
    match parsed(name, text, Level::Explicit) {
        Ok(document) => panic!("no fault: {document:#?}"),
        Err(faults) => faults.to_string().replace("/repo/", ""),
    }
}

pub(crate) fn layers(documents: Vec<Document>) -> Layers {
    Layers { documents, environment: Vec::new(), overrides: Overrides::none() }
}

pub(crate) fn resolved(layers: &Layers) -> Result<Policy, ResolveError> {
    resolve(layers, &vocabulary(), &scope(), &Trust::Only(Vec::new()))
}

/// The policy that one file of the user gives to the sandbox `a`.
pub(crate) fn policy(text: &str) -> Policy {
    let mut layers = layers(vec![document("polder.yaml", text)]);
    layers.overrides.sandbox = Some("a".to_owned());
    match resolved(&layers) {
        Ok(policy) => policy,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// Why the layers make no policy.
pub(crate) fn refused(layers: &Layers) -> String {
    match resolved(layers) {
        Ok(policy) => panic!("no fault: {policy:#?}"),
        Err(error) => error.to_string().replace("/repo/", ""),
    }
}
