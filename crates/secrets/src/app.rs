//! Tokens of a GitHub App: a short-lived proof that we have its key, exchanged for a token of one hour.
//!
//! The key is read for the proof and stays with polder; neither it nor the proof enters a sandbox. What GitHub answers is
//! believed as far as it has the form of an answer.

use crate::jwt::{self, KeyError};
use crate::secret::Secret;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Variables that say who the app is. None of them enters a sandbox together with its token.
pub const VARIABLES: [&str; 3] = [ID, KEY, INSTALLATION];
const ID: &str = "GITHUB_APP_ID";
const KEY: &str = "GITHUB_APP_PRIVATE_KEY";
const INSTALLATION: &str = "GITHUB_APP_INSTALLATION_ID";
const API: &str = "https://api.github.com";
/// A key file is not longer.
const KEY_BYTES_MAX: u64 = 64 * 1024;
/// How long a proof holds; GitHub takes at most ten minutes.
const PROOF: Duration = Duration::from_secs(9 * 60);
/// How far clocks may differ.
const SKEW: Duration = Duration::from_secs(60);

/// Why there is no token. Says nothing of the key.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// A variable is not there.
    #[error("`{0}` is not set, and a token of a GitHub App needs it")]
    Absent(&'static str),
    /// A variable has another form.
    #[error("`{0}` is not {1}")]
    Malformed(&'static str, &'static str),
    /// The key file cannot be read.
    #[error("cannot read the key that `{KEY}` names: {0}")]
    KeyFile(std::io::Error),
    /// The key is none.
    #[error("`{KEY}`: {0}")]
    Key(#[from] KeyError),
    /// Nobody knows where the app is installed.
    #[error("set `{INSTALLATION}`, or `GITHUB_REPOSITORY` to OWNER/NAME, so that the installation of the app is known")]
    NoInstallation,
    /// GitHub could not be asked.
    #[error("cannot ask `{host}` for a token: {reason}")]
    Unreachable {
        /// Who was asked.
        host: String,
        /// What failed.
        reason: String,
    },
    /// GitHub said no.
    #[error("`{host}` gives no token: {status} {message}")]
    Refused {
        /// Who was asked.
        host: String,
        /// The status.
        status: u16,
        /// What it says about it.
        message: String,
    },
    /// The answer is none.
    #[error("`{0}` answered with something that is no token")]
    Answer(String),
}

/// Who asks GitHub.
pub(crate) trait Ask {
    /// The status and the text of the answer; an error is the reason why there is none.
    fn ask(&self, method: Method, address: &str, proof: &Secret<String>) -> Result<(u16, String), String>;
}

/// How it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// To look.
    Get,
    /// To make something.
    Post,
}

/// An app, as variables describe it.
#[derive(Debug)]
pub(crate) struct App {
    id: String,
    key: Secret<String>,
    place: Place,
    api: String,
}

/// Where an app is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Installation(u64),
    Repository(String),
}

/// A token, and until when it holds.
#[derive(Debug)]
pub(crate) struct Minted {
    /// The token.
    pub(crate) token: Secret<String>,
    /// When it ends.
    pub(crate) expires: SystemTime,
}

impl App {
    /// Reads the variables, and the key where they name a file.
    pub(crate) fn from_environment(environment: &BTreeMap<OsString, OsString>) -> Result<Self, AppError> {
        let text = |name: &str| environment.get(OsStr::new(name)).and_then(|value| value.to_str()).unwrap_or_default();
        let needed =
            |name: &'static str| Some(text(name)).filter(|text| !text.is_empty()).ok_or(AppError::Absent(name));
        let id = needed(ID)?;
        if !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.') {
            return Err(AppError::Malformed(ID, "the number or the client id of an app"));
        }
        let place = match (text(INSTALLATION), text("GITHUB_REPOSITORY")) {
            ("", "") => return Err(AppError::NoInstallation),
            ("", repository) => Place::Repository(repository_name(repository)?),
            (number, _) => match number.parse() {
                Ok(number) if number > 0 => Place::Installation(number),
                Ok(_) | Err(_) => return Err(AppError::Malformed(INSTALLATION, "a positive number")),
            },
        };
        let key = needed(KEY)?;
        let key = if key.trim_start().starts_with("-----BEGIN") { key.to_owned() } else { key_file(key)? };
        Ok(Self { id: id.to_owned(), key: Secret::new(key), place, api: api(text("GITHUB_API_URL"))? })
    }

    /// What tells one app from another, without its key.
    pub(crate) fn name(&self) -> String {
        format!("{} {:?} {}", self.id, self.place, self.api)
    }

    /// Asks for a token.
    pub(crate) fn mint(&self, ask: &dyn Ask, now: SystemTime) -> Result<Minted, AppError> {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let proof = jwt::sign(&self.id, since.saturating_sub(SKEW), since + PROOF, &self.key)?;
        let installation = match &self.place {
            Place::Installation(number) => *number,
            Place::Repository(name) => {
                let answer = self.asked(ask, Method::Get, &format!("repos/{name}/installation"), &proof)?;
                answer["id"].as_u64().ok_or_else(|| AppError::Answer(self.api.clone()))?
            }
        };
        let path = format!("app/installations/{installation}/access_tokens");
        let answer = self.asked(ask, Method::Post, &path, &proof)?;
        let fault = || AppError::Answer(self.api.clone());
        let token = answer["token"].as_str().filter(|token| crate::source::is_word(token)).ok_or_else(fault)?;
        let expires =
            answer["expires_at"].as_str().and_then(|text| humantime::parse_rfc3339(text).ok()).ok_or_else(fault)?;
        Ok(Minted { token: Secret::new(token.to_owned()), expires })
    }

    fn asked(&self, ask: &dyn Ask, method: Method, path: &str, proof: &Secret<String>) -> Result<Value, AppError> {
        let host = || self.api.clone();
        let (status, text) = ask
            .ask(method, &format!("{}/{path}", self.api), proof)
            .map_err(|reason| AppError::Unreachable { host: host(), reason })?;
        let answer: Option<Value> = serde_json::from_str(&text).ok();
        if !(200..300).contains(&status) {
            let message = answer.as_ref().and_then(|answer| answer["message"].as_str()).unwrap_or("without a reason");
            // It is printed, and it is text from outside.
            let message = message.chars().filter(|c| !c.is_control()).take(200).collect();
            return Err(AppError::Refused { host: host(), status, message });
        }
        answer.ok_or_else(|| AppError::Answer(host()))
    }
}

/// `OWNER/NAME`, which becomes a part of an address.
fn repository_name(text: &str) -> Result<String, AppError> {
    let part = |part: &str| {
        let plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        plain && !part.is_empty() && part != "." && part != ".."
    };
    match text.split_once('/') {
        Some((owner, name)) if part(owner) && part(name) => Ok(text.to_owned()),
        _ => Err(AppError::Malformed("GITHUB_REPOSITORY", "OWNER/NAME")),
    }
}

/// Where GitHub is. A proof goes to nobody who is not sure to be it: without TLS only to this machine itself.
fn api(text: &str) -> Result<String, AppError> {
    let text = if text.is_empty() { API } else { text.trim_end_matches('/') };
    let rest = text.strip_prefix("https://").or_else(|| {
        let rest = text.strip_prefix("http://")?;
        let host = rest.split('/').next()?.rsplit_once(':').map_or(rest, |(host, _)| host);
        ["127.0.0.1", "localhost", "[::1]"].contains(&host).then_some(rest)
    });
    match rest {
        Some(rest) if !rest.is_empty() && !rest.contains(['@', '?', '#', ' ']) => Ok(text.to_owned()),
        _ => Err(AppError::Malformed("GITHUB_API_URL", "an address that begins with https://")),
    }
}

fn key_file(path: &str) -> Result<String, AppError> {
    let mut text = String::new();
    let file = File::open(path).map_err(AppError::KeyFile)?;
    file.take(KEY_BYTES_MAX).read_to_string(&mut text).map_err(AppError::KeyFile)?;
    Ok(text)
}

#[cfg(test)]
mod tests;
