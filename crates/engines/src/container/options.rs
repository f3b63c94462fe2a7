//! The engine's own table of a configuration. Pure.

use super::image::Pull;
use super::kind::Kind;
use polder_plan::Plan;
use serde::Deserialize;

/// What the table says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Options {
    /// The name under which the daemon knows another runtime, such as `runsc`.
    pub(super) runtime: Option<String>,
    /// When images are fetched.
    pub(super) pull: Option<Pull>,
}

impl Options {
    /// What the engine's table of a plan says.
    pub(super) fn of(kind: Kind, plan: &Plan) -> Result<Self, String> {
        Self::parse(plan.engine_options.get(kind.id()).map(|table| table.value.as_str()))
    }

    /// Reads the table; the text says what is wrong with it.
    fn parse(table: Option<&str>) -> Result<Self, String> {
        let Some(table) = table else { return Ok(Self::default()) };
        let options: Self = serde_json::from_str(table).map_err(|error| error.to_string())?;
        match &options.runtime {
            Some(name) if !is_name(name) => Err(format!("`{name}` is not the name of a runtime")),
            _ => Ok(options),
        }
    }
}

/// Letters, digits, `.`, `_` and `-`: not a path, which would let a configuration choose a program of the host's.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

#[cfg(test)]
mod tests;
