//! A path below the root of a tree: it cannot lead out, and any bytes that the kernel allows can be in it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// At least one component, none of them empty, `.` or `..`, no leading `/`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Relative(PathBuf);

/// A text that is no path below a root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a path below the root", .0.escape_debug())]
pub struct NotRelative(String);

impl Relative {
    /// Takes a path that obeys the rules of the type.
    pub fn new(path: &Path) -> Result<Self, NotRelative> {
        let bytes = path.as_os_str().as_bytes();
        let fine = bytes
            .split(|byte| *byte == b'/')
            .all(|part| !part.is_empty() && part != b"." && part != b".." && !part.contains(&0));
        if fine { Ok(Self(path.to_owned())) } else { Err(NotRelative(String::from_utf8_lossy(bytes).into_owned())) }
    }

    /// An entry of the root itself. The kernel gave the name, so it is one component.
    pub fn at_root(name: &OsStr) -> Self {
        Self(PathBuf::from(name))
    }

    /// An entry of the directory that this path names.
    pub fn child(&self, name: &OsStr) -> Self {
        Self(self.0.join(name))
    }

    /// The path as the standard library's type.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The last component.
    pub fn name(&self) -> &OsStr {
        self.0.file_name().expect("invariant: a relative path has at least one ordinary component")
    }

    /// The directory that it lies in; empty for the root.
    pub fn parent(&self) -> &Path {
        self.0.parent().expect("invariant: a relative path has at least one component")
    }

    /// The directory that it lies in, unless that is the root.
    pub fn parent_below_root(&self) -> Option<Self> {
        let parent = self.parent();
        (!parent.as_os_str().is_empty()).then(|| Self(parent.to_owned()))
    }

    /// Whether it is `other` or lies below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The components, from the root down.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.0.as_os_str().as_bytes().split(|byte| *byte == b'/')
    }
}

impl fmt::Debug for Relative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// As text where it is text, else as hexadecimal digits: a journal must be able to name every file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Wire {
    Text(String),
    Hex { hex: String },
}

impl Wire {
    pub(crate) fn of(bytes: &OsStr) -> Self {
        match bytes.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Hex { hex: bytes.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect() },
        }
    }

    pub(crate) fn read(self) -> Option<OsString> {
        match self {
            Self::Text(text) => Some(OsString::from(text)),
            Self::Hex { hex } => {
                let digits = hex.as_bytes().chunks(2).map(|pair| {
                    let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
                    u8::from_str_radix(pair, 16).ok()
                });
                digits.collect::<Option<Vec<u8>>>().map(OsString::from_vec)
            }
        }
    }
}

impl Serialize for Relative {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire::of(self.0.as_os_str()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Relative {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text =
            Wire::deserialize(deserializer)?.read().ok_or_else(|| serde::de::Error::custom("not hexadecimal"))?;
        Self::new(Path::new(&text)).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::Relative;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    #[test]
    fn no_path_leads_out() {
        for wrong in ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a/."] {
            assert!(Relative::new(Path::new(wrong)).is_err(), "{wrong}");
        }
        for right in ["a", "a/b", "a..b", ".git", "..."] {
            assert!(Relative::new(Path::new(right)).is_ok(), "{right}");
        }
    }

    #[test]
    fn every_path_survives_the_journal() {
        for bytes in [&b"plain"[..], b"with \n break", b"\xff\xfe/x", "ü".as_bytes()] {
            let path = Relative::new(Path::new(OsStr::from_bytes(bytes))).unwrap();
            let text = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<Relative>(&text).unwrap(), path, "{text}");
        }
        assert!(serde_json::from_str::<Relative>("\"../x\"").is_err());
        assert!(serde_json::from_str::<Relative>("{\"hex\": \"2e2e\"}").is_err());
    }
}
