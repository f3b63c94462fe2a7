//! Where spans go, as the variables of OpenTelemetry say it. Pure.

use polder_secrets::AUTHORITIES_FILE;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// As the specification says, when nobody says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);
const PROTOCOL: &str = "http/protobuf";

/// Where spans go.
#[derive(Clone, PartialEq, Eq)]
pub struct Destination {
    pub(crate) address: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) timeout: Duration,
    pub(crate) service: String,
    /// The file with the authorities that vouch for the collector, and the variable that names it; the well-known ones when
    /// absent.
    pub(crate) authorities: Option<(&'static str, PathBuf)>,
}

/// Why variables name no destination.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    /// Another form on the wire.
    #[error("`{0}` asks for `{1}`, and polder speaks {PROTOCOL}")]
    Protocol(&'static str, String),
    /// No address.
    #[error("`{0}` is no address that begins with http:// or https://")]
    Address(&'static str),
    /// Headers that are none. They may hold a secret, so they are not repeated.
    #[error("`{0}` is no list of NAME=VALUE")]
    Headers(&'static str),
    /// A certificate of our own.
    #[error(
        "`{0}` asks for a certificate of polder's own, and it shows none; unset it, or take a collector that wants none"
    )]
    OwnCertificate(&'static str),
    /// No number.
    #[error("`{0}` is no number of milliseconds above zero")]
    Timeout(&'static str),
}

impl Destination {
    /// What the variables say; nothing where they name no destination.
    pub fn from_environment(environment: &BTreeMap<OsString, OsString>) -> Result<Option<Self>, DestinationError> {
        let text = |name: &'static str| {
            let value = environment.get(OsStr::new(name)).and_then(|value| value.to_str());
            value.filter(|value| !value.is_empty()).map(|value| (name, value))
        };
        // What is said about traces wins over what is said about everything.
        let either = |own, all| text(own).or_else(|| text(all));
        let own = text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let address = match (own, text("OTEL_EXPORTER_OTLP_ENDPOINT")) {
            (Some((name, address)), _) => (name, address.to_owned()),
            (None, Some((name, base))) => (name, format!("{}/v1/traces", base.trim_end_matches('/'))),
            (None, None) => return Ok(None),
        };
        let off = text("OTEL_SDK_DISABLED").is_some_and(|(_, value)| value.eq_ignore_ascii_case("true"));
        if off || text("OTEL_TRACES_EXPORTER").is_some_and(|(_, value)| value == "none") {
            return Ok(None);
        }
        let protocol = either("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL");
        if let Some((name, protocol)) = protocol.filter(|(_, protocol)| *protocol != PROTOCOL) {
            return Err(DestinationError::Protocol(name, protocol.to_owned()));
        }
        let (name, address) = address;
        if !(address.starts_with("http://") || address.starts_with("https://")) {
            return Err(DestinationError::Address(name));
        }
        let headers = either("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS");
        let headers = headers.map_or(Ok(Vec::new()), |(name, list)| {
            let pair =
                |pair: &str| pair.split_once('=').map(|(key, value)| (key.trim().to_owned(), decoded(value.trim())));
            let pairs: Option<Vec<_>> = list.split(',').filter(|pair| !pair.trim().is_empty()).map(pair).collect();
            pairs.ok_or(DestinationError::Headers(name))
        })?;
        let timeout = either("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT");
        let timeout = timeout.map_or(Ok(TIMEOUT), |(name, number)| {
            let number = number.parse().ok().filter(|number| *number > 0);
            number.map(Duration::from_millis).ok_or(DestinationError::Timeout(name))
        })?;
        // Without it the collector would refuse us, and say less about it.
        let own = [
            "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
            "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
            "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
            "OTEL_EXPORTER_OTLP_CLIENT_KEY",
        ];
        if let Some((name, _)) = own.into_iter().find_map(text) {
            return Err(DestinationError::OwnCertificate(name));
        }
        // A path need not be text.
        let file = |name: &'static str| {
            let path = environment.get(OsStr::new(name)).filter(|path| !path.is_empty());
            path.map(|path| (name, PathBuf::from(path)))
        };
        let authorities = ["OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE", AUTHORITIES_FILE];
        let authorities = authorities.into_iter().find_map(file).filter(|_| address.starts_with("https://"));
        let service = text("OTEL_SERVICE_NAME").map_or("polder", |(_, name)| name).to_owned();
        Ok(Some(Self { address, headers, timeout, service, authorities }))
    }
}

/// A value in which `%41` stands for a letter.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = (*first == b'%').then(|| tail.get(..2)).flatten().and_then(|two| std::str::from_utf8(two).ok());
        match code.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl std::fmt::Debug for Destination {
    /// Without its headers, which may hold a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Destination").field("address", &self.address).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
