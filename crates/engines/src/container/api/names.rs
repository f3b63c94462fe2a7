//! Names that can stand in a request without saying anything else.

use std::fmt;
use std::str::FromStr;

/// The longest name of anything.
const NAME_BYTES_MAX: usize = 255;

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not the name of {of}: {why}")]
pub(crate) struct NameError {
    text: String,
    of: &'static str,
    why: &'static str,
}

/// The name or id of a container, network or volume: a letter or digit, then those, `_`, `.` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectName(String);

impl ObjectName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ObjectName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let fault = |why| NameError { text: super::error::readable(text), of: "a container, network or volume", why };
        if text.len() > NAME_BYTES_MAX {
            return Err(fault("it is longer than 255 characters"));
        }
        if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err(fault("it does not begin with a letter or a digit"));
        }
        if !text.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)) {
            return Err(fault("it holds something else than letters, digits, `_`, `.` and `-`"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// The name of an image: `[host[:port]/]path[:tag][@digest]`, or an id such as `sha256:…`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ImageName {
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl ImageName {
    /// Everything before the tag.
    pub(crate) fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag or the digest: what of the repository is meant. A name without either means `latest`.
    pub(crate) fn reference(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or("latest")
    }

    /// The tag, if it names one.
    pub(crate) fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { repository, tag, digest } = self;
        f.write_str(repository)?;
        if let Some(tag) = tag {
            write!(f, ":{tag}")?;
        }
        digest.as_ref().map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}

impl FromStr for ImageName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let fault = |why| NameError { text: super::error::readable(text), of: "an image", why };
        if text.len() > NAME_BYTES_MAX {
            return Err(fault("it is longer than 255 characters"));
        }
        if let Some(id) = text.strip_prefix("sha256:") {
            let hex = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase());
            return if hex {
                Ok(Self { repository: text.to_owned(), tag: None, digest: None })
            } else {
                Err(fault("an id is `sha256:` and 64 digits of `0-9a-f`"))
            };
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return Err(fault("what follows `@` is not a digest such as `sha256:…`"));
        }
        // A colon after the last slash begins the tag; one before it is the registry's port.
        let path_at = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (repository, tag) = match rest[path_at..].find(':') {
            Some(colon) => (&rest[..path_at + colon], Some(&rest[path_at + colon + 1..])),
            None => (rest, None),
        };
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(fault("what follows the last `:` is not a tag"));
        }
        let mut parts: Vec<&str> = repository.split('/').collect();
        if parts.len() > 1 && is_host(parts[0]) {
            parts.remove(0);
        }
        if repository.chars().any(|c| c.is_ascii_uppercase()) && parts.iter().any(|part| !is_part(part)) {
            return Err(fault("names of images are lower case"));
        }
        if !parts.iter().all(|part| is_part(part)) {
            return Err(fault("a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`"));
        }
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Ok(Self { repository: repository.to_owned(), tag: owned(tag), digest: owned(digest) })
    }
}

/// One part of an image's path: separators stand between letters and digits only.
fn is_part(part: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    let ends = bytes.first().zip(bytes.last()).is_some_and(|(first, last)| plain(*first) && plain(*last));
    ends && bytes.iter().all(|byte| plain(*byte) || b"._-".contains(byte)) && !part.contains("..")
}

/// A registry: has a dot or a port, or is this machine.
fn is_host(part: &str) -> bool {
    let (name, port) = part.split_once(':').map_or((part, None), |(name, port)| (name, Some(port)));
    let named = !name.is_empty()
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c))
        && !name.contains("..");
    let ported = port.is_none_or(|port| port.parse::<u16>().is_ok());
    named && ported && (name.contains('.') || port.is_some() || name == "localhost")
}

fn is_tag(tag: &str) -> bool {
    tag.len() <= 128
        && tag.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && tag.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

fn is_digest(digest: &str) -> bool {
    digest.split_once(':').is_some_and(|(algorithm, hex)| {
        !algorithm.is_empty()
            && algorithm.starts_with(|c: char| c.is_ascii_lowercase())
            && algorithm.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+._-".contains(c))
            && hex.len() >= 32
            && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests;
