//! The smallest addition to a policy that allows one thing: `fs.read=/opt/x`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// One addition to a policy, as the user types it after `--allow`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// `fs.read=PATH`: the host path becomes visible, read-only, at the same path inside.
    FsRead(PathBuf),
    /// `fs.write=PATH`: the path becomes visible and writable; inside the workspace it lifts a protection.
    FsWrite(PathBuf),
    /// `net.connect=HOST[:PORT]`: the broker lets this through.
    NetConnect(String),
    /// `net=full`: the host's network, all of it.
    NetFull,
    /// `env=NAME`: the variable passes.
    Env(String),
    /// `limits.NAME=VALUE`: this limit instead of the one that was reached.
    Limit {
        /// The key in `limits`.
        name: String,
        /// Its new value.
        value: String,
    },
}

impl Grant {
    /// What can be written.
    pub const FORMS: &str =
        "fs.read=PATH, fs.write=PATH, net.connect=HOST[:PORT], net=full, env=NAME or limits.NAME=VALUE";
}

/// Why a text is not a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantError(pub String);

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a grant; write {}", self.0, Grant::FORMS)
    }
}

impl std::error::Error for GrantError {}

impl FromStr for Grant {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fault = || GrantError(text.to_owned());
        let (kind, value) = text.split_once('=').ok_or_else(fault)?;
        if value.is_empty() || value.contains('\0') {
            return Err(fault());
        }
        match kind {
            "fs.read" => Ok(Self::FsRead(value.into())),
            "fs.write" => Ok(Self::FsWrite(value.into())),
            "net.connect" => Ok(Self::NetConnect(value.to_owned())),
            "net" if value == "full" => Ok(Self::NetFull),
            "env" => Ok(Self::Env(value.to_owned())),
            _ if kind.starts_with("limits.") => {
                Ok(Self::Limit { name: kind["limits.".len()..].to_owned(), value: value.to_owned() })
            }
            _ => Err(fault()),
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FsRead(path) => write!(f, "fs.read={}", path.display()),
            Self::FsWrite(path) => write!(f, "fs.write={}", path.display()),
            Self::NetConnect(peer) => write!(f, "net.connect={peer}"),
            Self::NetFull => f.write_str("net=full"),
            Self::Env(name) => write!(f, "env={name}"),
            Self::Limit { name, value } => write!(f, "limits.{name}={value}"),
        }
    }
}

#[cfg(test)]
mod tests;
