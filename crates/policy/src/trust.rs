//! Trust: what a project's file asks for that reaches beyond its own tree.
//!
//! A project's file is text from a repository. What stays inside the workspace it may say; the rest counts only after
//! the user trusted that very content.

use crate::builtin::ENV_PASS;
use crate::document::{Definition, Document, Level, Source};
use crate::fault::printable;
use crate::model::{Access, EnvPattern, Image, Via};
use polder_facts::{Origin, Sourced};
use sha2::{Digest, Sha256};
use std::fmt;

/// One thing that a project's file asks for and only the user can give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The line that asks.
    pub origin: Origin,
    /// What it asks for.
    pub what: String,
    /// The sandbox that would have it; every sandbox when there is none.
    pub sandbox: Option<String>,
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&format!("{}: {}", self.origin, self.what)))
    }
}

/// Which projects the user trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those with these fingerprints.
    Only(Vec<String>),
    /// All of them, for this call.
    Everything,
}

impl Trust {
    /// Whether this content may have what it asks for.
    pub(crate) fn covers(&self, fingerprint: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Only(known) => known.iter().any(|known| known == fingerprint),
        }
    }
}

/// SHA-256, in hexadecimal, over a file and every file that it extends.
pub fn fingerprint(source: &Source) -> String {
    let mut hash = Sha256::new();
    feed(&mut hash, source);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn feed(hash: &mut Sha256, source: &Source) {
    // Lengths and counts first, so that no two trees of files are the same stream of bytes.
    hash.update((source.bytes.len() as u64).to_be_bytes());
    hash.update(&source.bytes);
    hash.update((source.extends.len() as u64).to_be_bytes());
    source.extends.iter().for_each(|base| feed(hash, base));
}

/// Everything that a project's file, or a file it extends, asks for. Other levels are the user's own and ask nothing.
pub fn asks(document: &Document) -> Vec<Ask> {
    if document.level != Level::Project {
        return Vec::new();
    }
    let mut asks = Vec::new();
    for document in document.chain() {
        for pattern in document.env_defaults.iter().flat_map(|list| &list.value) {
            asks.extend(env_ask(pattern, None));
        }
        for (name, definition) in &document.sandboxes {
            asks.extend(definition_asks(name, definition));
        }
    }
    asks
}

fn definition_asks(name: &str, definition: &Definition) -> Vec<Ask> {
    let mut asks = Vec::new();
    let mut ask = |origin: &Origin, what: String| {
        asks.push(Ask { origin: origin.clone(), what, sandbox: Some(name.to_owned()) });
    };
    // Also a path inside the repository: it can be a link to anywhere, and nothing here looks at the file system.
    for bind in definition.binds.iter().flat_map(|list| &list.value) {
        let verb = if bind.value.access == Access::ReadWrite { "write" } else { "read" };
        ask(&bind.origin, format!("to {verb} `{}`", bind.value.host));
    }
    // A copy of a repository has all that was ever committed to it.
    for project in definition.workspace.iter().flat_map(|workspace| &workspace.value.projects) {
        ask(&project.origin, format!("to copy the repository `{}`", project.host));
    }
    for credential in definition.credentials.iter().flat_map(|list| &list.value) {
        let hosts = credential.value.hosts.join(", ");
        let how = match credential.value.via {
            Via::Broker => "",
            Via::Environment => ", in the command's own variables",
        };
        ask(&credential.origin, format!("the credential `{}` for {hosts}{how}", credential.value.source));
    }
    for guarantee in definition.accept.iter().flat_map(|list| &list.value) {
        ask(&guarantee.origin, format!("to accept gaps in `{}`", guarantee.value));
    }
    if let Some(options) = &definition.options {
        ask(&options.origin, "to set the engine's own options".to_owned());
    }
    // A compose file starts programs beside the command.
    if let Some(Sourced { value: Image::Compose { file, .. }, origin }) = &definition.image {
        ask(origin, format!("to start what the compose file `{file}` says"));
    }
    for pattern in definition.env_pass.iter().flat_map(|list| &list.value) {
        asks.extend(env_ask(pattern, Some(name)));
    }
    asks.sort_by(|a, b| a.origin.cmp(&b.origin));
    asks
}

fn env_ask(pattern: &Sourced<EnvPattern>, sandbox: Option<&str>) -> Option<Ask> {
    let EnvPattern { glob, negated } = &pattern.value;
    let known = ENV_PASS.contains(&glob.as_str());
    (!negated && !known).then(|| Ask {
        origin: pattern.origin.clone(),
        what: format!("variables that match `{glob}`"),
        sandbox: sandbox.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests;
