//! Paths that say whose they are. A host path and a guest path never mix by accident.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// An absolute path on the host, without `.` and `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPath(PathBuf);

/// An absolute path inside the sandbox, without `.` and `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuestPath(PathBuf);

/// Why a text is not a path on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPathError {
    /// It does not start with `/`.
    Relative,
    /// It has `..` as a component.
    ParentComponent,
    /// It has a NUL byte.
    Nul,
}

/// Why a text is not a path inside the sandbox.
pub type GuestPathError = HostPathError;

impl fmt::Display for HostPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Relative => "must be absolute, starting with `/`",
            Self::ParentComponent => "must not contain `..`",
            Self::Nul => "must not contain a NUL byte",
        })
    }
}

impl std::error::Error for HostPathError {}

/// The one spelling of a path: absolute, no `.`, no doubled or trailing `/`.
fn canonical_spelling(path: &Path) -> Result<PathBuf, HostPathError> {
    if path.as_os_str().as_bytes().contains(&0) {
        return Err(HostPathError::Nul);
    }
    if !path.is_absolute() {
        return Err(HostPathError::Relative);
    }
    let mut clean = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            Component::ParentDir => return Err(HostPathError::ParentComponent),
            Component::Normal(name) => clean.push(name),
        }
    }
    Ok(clean)
}

macro_rules! path_type {
    ($name:ident) => {
        impl $name {
            /// Takes a path that obeys the rules of the type, in its one spelling.
            pub fn new(path: impl AsRef<Path>) -> Result<Self, HostPathError> {
                canonical_spelling(path.as_ref()).map(Self)
            }

            /// The path as the standard library's type.
            pub fn as_path(&self) -> &Path {
                &self.0
            }

            /// The path's bytes.
            pub fn as_os_str(&self) -> &OsStr {
                self.0.as_os_str()
            }

            /// A path below this one; `relative` is taken component by component.
            pub fn join(&self, relative: impl AsRef<Path>) -> Result<Self, HostPathError> {
                Self::new(self.0.join(relative))
            }

            /// Whether this path is `other` or lies below it, compared by component.
            pub fn is_within(&self, other: &Self) -> bool {
                self.0.starts_with(&other.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.display().fmt(f)
            }
        }
    };
}

path_type!(HostPath);
path_type!(GuestPath);
