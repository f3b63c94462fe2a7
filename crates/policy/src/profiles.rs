//! The profiles that polder brings: rules for families of tools, as data in `profiles/` at the root of the repository.
//!
//! `profiles/README.md` has their form. What a profile says comes before the rules of every layer, so that each of those
//! wins, and it is held to what is enforced like everything else.

use crate::document::{Definition, Level, Source};
use crate::fault::{Fault, Faults, nearest};
use crate::lower;
use crate::model::Bind;
use crate::tree::Node;
use crate::vocabulary::Vocabulary;
use polder_facts::Sourced;
use std::path::Path;

/// Every profile with its text, in order.
const SHIPPED: [(&str, &str); 5] = [
    ("go", include_str!("../../../profiles/go.yaml")),
    ("jvm", include_str!("../../../profiles/jvm.yaml")),
    ("node", include_str!("../../../profiles/node.yaml")),
    ("python", include_str!("../../../profiles/python.yaml")),
    ("rust", include_str!("../../../profiles/rust.yaml")),
];

/// The names of all profiles, in order.
pub const PROFILE_NAMES: [&str; SHIPPED.len()] = {
    let mut names = [""; SHIPPED.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = SHIPPED[at].0;
        at += 1;
    }
    names
};

/// A profile as it is for one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolProfile {
    /// Its name.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// The programs that it is for.
    pub programs: Vec<String>,
    /// What it shows of the host.
    pub binds: Vec<Bind>,
}

/// Every profile, with its places for this user. The variables are the caller's.
pub fn tool_profiles(
    vocabulary: &Vocabulary,
    home: &Path,
    variables: &[(String, String)],
) -> Result<Vec<ToolProfile>, Faults> {
    let read = |(name, text): (&str, &str)| {
        let (tree, definition) = lower::shipped(&source(name, text), vocabulary, home, variables)?;
        let text = |key: &str| tree.get(key).and_then(Node::text).unwrap_or_default().to_owned();
        let programs = tree.get("programs").map(Node::texts).unwrap_or_default();
        Ok(ToolProfile {
            name: text("name"),
            description: text("description"),
            programs: programs.into_iter().map(|(name, _)| name.to_owned()).collect(),
            binds: definition.binds.into_iter().flat_map(|list| list.value).map(|bind| bind.value).collect(),
        })
    };
    SHIPPED.into_iter().map(read).collect()
}

/// What a profile says.
pub(crate) fn rules(
    asked: &Sourced<String>,
    vocabulary: &Vocabulary,
    home: &Path,
    variables: &[(String, String)],
) -> Result<Definition, Faults> {
    let Some((name, text)) = SHIPPED.into_iter().find(|(name, _)| *name == asked.value) else {
        let hint = nearest(&asked.value, PROFILE_NAMES);
        let hint = hint.unwrap_or_else(|| format!("there are {}", PROFILE_NAMES.join(", ")));
        let message = format!("there is no profile `{}`", asked.value);
        return Err(Fault::new(asked.origin.clone(), message).hint(hint).into());
    };
    lower::shipped(&source(name, text), vocabulary, home, variables).map(|(_, definition)| definition)
}

fn source(name: &str, text: &str) -> Source {
    Source::new(format!("/{name}.yaml"), text, Level::Shipped)
}

#[cfg(test)]
mod tests;
