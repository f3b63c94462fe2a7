//! Whose file it is: polder's own files are strict everywhere, a `.visor.yaml` belongs to another tool as well.

use std::path::Path;

/// Whose rules a file follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `polder.yaml`, `polder.toml` and their kin: every unknown key is an error, and no network is the default.
    Own,
    /// `.visor.yaml`: keys of another tool stand beside ours. A sandbox has the network and its workspace
    /// appears at `/workspace`, unless it says otherwise.
    Visor,
}

impl Dialect {
    /// By the file's name.
    pub fn of(path: &Path) -> Self {
        match path.file_name().and_then(|name| name.to_str()) {
            Some(".visor.yaml" | ".visor.yml") => Self::Visor,
            _ => Self::Own,
        }
    }
}
