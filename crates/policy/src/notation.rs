//! Text to tree: the three notations, with the limits that keep a hostile file from costing more than its size.

mod json;
mod toml;
mod yaml;

use crate::fault::Fault;
use crate::tree::Node;
use polder_facts::Origin;
use std::path::Path;

/// The largest configuration file.
pub const FILE_BYTES_MAX: u64 = 1 << 20;
/// The deepest nesting.
pub(crate) const DEPTH_MAX: usize = 64;
/// The most values in one file, every alias counted as often as it is used.
pub(crate) const NODES_MAX: usize = 100_000;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    Yaml,
    Toml,
    Json,
}

impl Notation {
    /// By the file's name; what is neither TOML nor JSON is YAML.
    pub(crate) fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("json") => Self::Json,
            _ => Self::Yaml,
        }
    }
}

/// Reads one file's bytes as a tree.
pub fn read_tree(path: &Path, bytes: &[u8]) -> Result<Node, Fault> {
    let fault = |line: u32, message: String| Fault::new(Origin::File { path: path.to_owned(), line }, message);
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(fault(1, format!("the file has more than {FILE_BYTES_MAX} bytes")));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count() as u32;
        fault(line, format!("the file is not UTF-8 at byte {}", error.valid_up_to()))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tree = match Notation::of(path) {
        Notation::Yaml => yaml::tree(text),
        Notation::Toml => toml::tree(text),
        Notation::Json => json::tree(text),
    };
    tree.map_err(|Unreadable { line, message }| fault(line, message))
}

/// Why a text is not a tree. Reading stops at the first one: what follows it cannot be trusted to mean anything.
#[derive(Debug)]
struct Unreadable {
    line: u32,
    message: String,
}

impl Unreadable {
    fn new(line: u32, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }

    fn too_deep(line: u32) -> Self {
        Self::new(line, format!("nested more than {DEPTH_MAX} deep"))
    }

    fn too_many(line: u32) -> Self {
        Self::new(line, format!("more than {NODES_MAX} values"))
    }
}

#[cfg(test)]
mod tests;
