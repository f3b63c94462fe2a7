//! Where a value was said, so that every refusal can point at its cause.

use std::fmt;
use std::path::PathBuf;

/// The place a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Polder's own default.
    BuiltIn,
    /// A line of a configuration file.
    File {
        /// The file as it was found.
        path: PathBuf,
        /// The line, counted from 1.
        line: u32,
    },
    /// A `POLDER_*` variable.
    Environment(String),
    /// A command line flag, with its dashes.
    Flag(String),
    /// The caller of the Rust API.
    Api,
    /// A stream of the caller is a terminal.
    Terminal,
    /// A line of a profile that polder brings.
    Profile {
        /// The profile's name.
        name: String,
        /// The line, counted from 1.
        line: u32,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Api => f.write_str("the calling program"),
            Self::Terminal => f.write_str("the caller's terminal"),
            Self::Profile { name, line } => write!(f, "profile {name}:{line}"),
        }
    }
}

/// A value together with the place it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    /// What was said.
    pub value: T,
    /// Where it was said.
    pub origin: Origin,
}

impl<T> Sourced<T> {
    /// Joins a value with its place.
    pub const fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// A value that polder itself brings.
    pub const fn built_in(value: T) -> Self {
        Self::new(value, Origin::BuiltIn)
    }

    /// Keeps the place and changes the value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Sourced<U> {
        Sourced { value: change(self.value), origin: self.origin }
    }
}
