//! Applies and what takes them back, in the audit log before the tree changes.

use crate::exit::{Failure, say};
use polder::deeds::{Deeds, Kind, Weight};
use polder_audit::digest;
use polder_workspace::{Relative, Watch, Workspace};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;

/// The most of the paths that stands in one record; the digest is of all.
const PATHS_BYTES_MAX: usize = 64 * 1024;

/// Writes down what is about to change, and keeps it from changing when that cannot be written down.
pub(crate) struct Recorded {
    deeds: Deeds,
    verb: &'static str,
    weight: Weight,
    about: Value,
}

impl Recorded {
    /// For one deed. `beyond` is what it takes although something stands against it.
    pub(crate) fn new(verb: &'static str, workspace: &Workspace, beyond: &[&[String]]) -> Result<Self, Failure> {
        let deeds = Deeds::of(&std::env::vars_os().collect())?;
        let weight = if beyond.iter().all(|patterns| patterns.is_empty()) { Weight::Light } else { Weight::Heavy };
        let (uid, _) = polder_sys::wait::effective_ids();
        let about = json!({
            "workspace": workspace.name().as_str(),
            "root": workspace.root().display().to_string(),
            "beyond": beyond,
            "uid": uid,
            "pid": std::process::id(),
        });
        Ok(Self { deeds, verb, weight, about })
    }
}

impl Watch for Recorded {
    fn step(&mut self, _: &'static str) -> io::Result<()> {
        Ok(())
    }

    fn begins(&mut self, paths: &BTreeSet<Relative>) -> io::Result<()> {
        let texts: Vec<String> = paths.iter().map(super::shown).collect();
        let mut room = PATHS_BYTES_MAX;
        let fits = |text: &&String| {
            room = room.saturating_sub(text.len() + 8);
            room > 0
        };
        let told: Vec<&String> = texts.iter().take_while(fits).collect();
        let mut data = self.about.clone();
        data["verb"] = self.verb.into();
        data["count"] = texts.len().into();
        data["digest"] = digest(texts.join("\n").as_bytes()).into();
        data["paths"] = json!(told);
        let warning = self.deeds.record(Kind::Apply, self.weight, &data).map_err(io::Error::other)?;
        warning.iter().for_each(|warning| say(warning));
        Ok(())
    }
}
