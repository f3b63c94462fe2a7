//! The words that an argument can have, as this machine and the files of this directory define them.

use polder::Guarantee;
use polder::config::{DefinedNames, Files, names};
use polder::records::{self, Records};
use polder_workspace::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What is looked up only when it is asked for.
pub(super) struct Known {
    environment: BTreeMap<OsString, OsString>,
    directory: PathBuf,
    files: Files,
}

impl Known {
    /// For a line that may name another directory or a file of its own.
    pub(super) fn of(words: &[String]) -> Self {
        let after = |flags: &[&str]| {
            let pairs = words.windows(2).filter(|pair| flags.contains(&pair[0].as_str()));
            pairs.map(|pair| PathBuf::from(&pair[1])).next_back()
        };
        Self {
            environment: std::env::vars_os().collect(),
            directory: after(&["-C", "--directory"]).unwrap_or_else(|| PathBuf::from(".")),
            files: after(&["--config"]).map_or(Files::Found, Files::FoundAnd),
        }
    }

    /// The words for an argument of a verb; `None` where there is no list of them.
    pub(super) fn of_argument(&self, verb: &str, argument: &str) -> Option<Vec<String>> {
        let fixed = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        match (verb, argument) {
            (_, "engine") => Some(engines()),
            (_, "sandbox") => Some(self.defined().sandboxes.into_iter().collect()),
            ("steps", "names") => Some(self.defined().steps.into_iter().collect()),
            (_, "network") => fixed(&["none", "restricted", "full"]),
            (_, "observe") => fixed(&["off", "cheap", "exact"]),
            (_, "workdir") => fixed(&["host"]),
            (_, "profile") => Some(polder_policy::PROFILE_NAMES.map(str::to_owned).to_vec()),
            (_, "require" | "accept") => Some(Guarantee::ALL.map(|guarantee| guarantee.name().to_owned()).to_vec()),
            (_, "workspace" | "from") => Some(self.workspaces()),
            (verb, "name") if verb.starts_with("workspace ") => Some(self.workspaces()),
            ("explain" | "grant", "run") => Some(self.runs()),
            ("shell", "shell") => Some(shells()),
            _ => None,
        }
    }

    fn defined(&self) -> DefinedNames {
        names(&self.directory, &self.files, &self.environment)
    }

    fn workspaces(&self) -> Vec<String> {
        let place = Store::place_for(&self.environment);
        // Opening a store makes it, and a key must not.
        let store = place.filter(|place| place.is_dir()).and_then(|place| Store::find_place(&place).ok());
        let all = store.and_then(|store| store.list().ok()).unwrap_or_default();
        let names: BTreeSet<String> = all.iter().map(|workspace| workspace.name().as_str().to_owned()).collect();
        names.into_iter().collect()
    }

    fn runs(&self) -> Vec<String> {
        let directory = records::directory(&self.environment).filter(|directory| directory.is_dir());
        let mut runs = directory.and_then(|directory| Records::at(directory).runs().ok()).unwrap_or_default();
        runs.reverse();
        runs
    }
}

fn engines() -> Vec<String> {
    let known = polder::vocabulary().engines;
    std::iter::once("auto").chain(known.iter().map(|engine| engine.id)).map(str::to_owned).collect()
}

/// The shells of this machine.
fn shells() -> Vec<String> {
    let listed = std::fs::read_to_string("/etc/shells").unwrap_or_default();
    let paths = listed.lines().filter(|line| line.starts_with('/'));
    let names = paths.filter_map(|line| Path::new(line).file_name()?.to_str().map(str::to_owned));
    names.collect::<BTreeSet<_>>().into_iter().collect()
}
