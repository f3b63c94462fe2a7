//! What an attempt knows about the bait: a few words, the same inside and outside, except where the workspace is.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The words of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    words: BTreeMap<String, String>,
}

const WORKSPACE: &str = "workspace";

impl Field {
    pub(crate) fn new(words: BTreeMap<String, String>) -> Self {
        Self { words }
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(&self.words).expect("invariant: a map of strings is JSON")
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self::new)
    }

    /// A word that the bait left.
    pub(crate) fn word(&self, name: &str) -> &str {
        self.words.get(name).map(String::as_str).expect("invariant: the bait of an attack leaves what its attempt asks")
    }

    /// A host path that the bait left.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(self.word(name))
    }

    /// A number that the bait left.
    pub(crate) fn number(&self, name: &str) -> u32 {
        self.word(name).parse().expect("invariant: the bait leaves numbers as digits")
    }

    /// A path in the workspace, as seen from here.
    pub(crate) fn workspace(&self, below: &str) -> PathBuf {
        let root = self.path(WORKSPACE);
        if below.is_empty() { root } else { root.join(below) }
    }

    /// A path in the caller's home directory; the same inside and outside.
    pub(crate) fn home(&self, below: &str) -> PathBuf {
        self.path("home").join(below)
    }

    /// A host path that the bait left, which is shown at another place inside.
    pub(crate) fn shown(&self, name: &str, inside: &str) -> PathBuf {
        if self.is_control() { self.path(name) } else { PathBuf::from(inside) }
    }

    /// Whether this is the attempt without a sandbox.
    pub(crate) fn is_control(&self) -> bool {
        self.word("side") == "control"
    }
}
