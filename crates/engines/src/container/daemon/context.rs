//! The context that the caller chose for Docker's own command: a name, and a file that says where its daemon listens.

use super::DaemonError;
use polder_facts::HostFacts;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The longest file that is read.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How many contexts are looked at.
const CONTEXTS_MAX: usize = 1000;
/// The name for "where the system has it".
const DEFAULT: &str = "default";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigWire {
    current_context: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MetaWire {
    endpoints: BTreeMap<String, EndpointWire>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EndpointWire {
    host: Option<String>,
}

/// The name and the address of the chosen context, if one was chosen.
pub(super) fn chosen(host: &HostFacts) -> Result<Option<(String, String)>, DaemonError> {
    let directory = directory(host);
    let named = variable(host, "DOCKER_CONTEXT").map(|name| name.to_string_lossy().into_owned());
    let name = match named {
        Some(name) => Some(name),
        None => current(&directory)?,
    };
    let Some(name) = name.filter(|name| !name.is_empty() && name != DEFAULT) else { return Ok(None) };
    let fault = |why: String| DaemonError::Context { name: name.clone(), why };
    let path = meta_path(&directory, &name);
    let bytes = read(&path).map_err(|error| fault(format!("{}: {error}", path.display())))?;
    let meta: MetaWire =
        serde_json::from_slice(&bytes).map_err(|error| fault(format!("{}: {error}", path.display())))?;
    let address = meta.endpoints.get("docker").and_then(|endpoint| endpoint.host.clone());
    let address = address.ok_or_else(|| fault(format!("{} names no daemon", path.display())))?;
    Ok(Some((name, address)))
}

/// The addresses of all contexts, whichever was chosen. One that cannot be read names no daemon to anybody.
pub(super) fn addresses(host: &HostFacts) -> Vec<String> {
    let all = fs::read_dir(directory(host).join("contexts/meta")).into_iter().flatten().flatten();
    let metas = all.take(CONTEXTS_MAX).filter_map(|entry| read(&entry.path().join("meta.json")).ok());
    let metas = metas.filter_map(|bytes| serde_json::from_slice::<MetaWire>(&bytes).ok());
    metas.flat_map(|meta| meta.endpoints.into_values().filter_map(|endpoint| endpoint.host)).collect()
}

fn directory(host: &HostFacts) -> PathBuf {
    variable(host, "DOCKER_CONFIG").map_or_else(|| host.user.home.join(".docker"), PathBuf::from)
}

fn variable<'a>(host: &'a HostFacts, name: &str) -> Option<&'a OsString> {
    host.environment.get(OsStr::new(name)).filter(|value| !value.is_empty())
}

/// Docker names the directory of a context by a hash of its name.
fn meta_path(directory: &Path, name: &str) -> PathBuf {
    let mut hash = String::new();
    for byte in Sha256::digest(name.as_bytes()) {
        // Writing to a text cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    directory.join("contexts/meta").join(hash).join("meta.json")
}

/// The context that the caller's configuration names; a configuration that is not there names none.
fn current(directory: &Path) -> Result<Option<String>, DaemonError> {
    let path = directory.join("config.json");
    let fault =
        |why: String| DaemonError::Context { name: "current".to_owned(), why: format!("{}: {why}", path.display()) };
    let bytes = match read(&path) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(fault(error.to_string())),
    };
    let config: ConfigWire = serde_json::from_slice(&bytes).map_err(|error| fault(error.to_string()))?;
    Ok(config.current_context)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}
