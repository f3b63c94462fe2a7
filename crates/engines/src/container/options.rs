//! The engine's own table of a configuration. Pure.

use super::image::{Pull, Settings};
use super::kind::Kind;
use polder_facts::Span;
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
    /// How long fetching one may take, such as `10m`.
    pub(super) pull_timeout: Option<String>,
    /// How long building one may take.
    pub(super) build_timeout: Option<String>,
}

/// A part of the names of the runtime with a kernel of its own that polder knows how to use.
const APART: &str = "runsc";
/// Parts of the names of others, of which nobody has seen yet what they keep.
const UNKNOWN: [&str; 2] = ["kata", "krun"];

impl Options {
    /// What the engine's table of a plan says.
    pub(super) fn of(kind: Kind, plan: &Plan) -> Result<Self, String> {
        Self::parse(plan.engine_options.get(kind.id()).map(|table| table.value.as_str()))
    }

    /// Reads the table; the text says what is wrong with it.
    fn parse(table: Option<&str>) -> Result<Self, String> {
        let Some(table) = table else { return Ok(Self::default()) };
        let options: Self = serde_json::from_str(table).map_err(|error| error.to_string())?;
        for time in [&options.pull_timeout, &options.build_timeout].into_iter().flatten() {
            time.parse::<Span>().map_err(|error| format!("`{time}`: {error}"))?;
        }
        match &options.runtime {
            Some(name) if !is_name(name) => Err(format!("`{name}` is not the name of a runtime")),
            Some(name) if UNKNOWN.iter().any(|part| name.contains(part)) => Err(format!(
                "runtime `{name}` has a kernel of its own, and nobody has tried what holds there; use a runtime on this \
                 kernel, such as `runc`, or gVisor's `runsc`"
            )),
            _ => Ok(options),
        }
    }

    /// The runtime, if it has a kernel of its own.
    pub(super) fn apart(&self) -> Option<&str> {
        self.runtime.as_deref().filter(|name| name.contains(APART))
    }

    /// How images are got.
    pub(super) fn images(&self) -> Settings {
        let usual = Settings::USUAL;
        let time = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<Span>().ok()).map(|span| span.0);
        Settings {
            pull: self.pull.unwrap_or(usual.pull),
            pull_time: time(&self.pull_timeout).unwrap_or(usual.pull_time),
            build_time: time(&self.build_timeout).unwrap_or(usual.build_time),
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
