//! Finding and reading the layers of a configuration: system, user, project, `--config`.

use crate::audit::{self, Recorder};
use crate::error::Error;
use crate::records::{self, Records};
use polder_facts::{HostPath, Origin, Sourced};
use polder_policy::{
    Ask, AuditMode, Dialect, Document, Fault, Faults, Layers, Level, OWN_NAMES, Overrides, PROJECT_NAMES, PathPattern,
    Policy, Scope, Source, Trust, Workdir, WorkspaceMode, asks, find_in, find_project, load, parse, read_tree, resolve,
    seal,
};
use polder_run::caches;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const SYSTEM_DIRECTORY: &str = "/etc/polder";

/// Which files are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Files {
    /// None: only what is built in and what the caller says.
    None,
    /// The system's, the user's and the project's.
    Found,
    /// The same, and this one on top.
    FoundAnd(PathBuf),
}

/// Everything that was said about runs in a directory.
#[derive(Clone, Debug)]
pub struct Said {
    /// The files, variables and flags.
    pub layers: Layers,
    /// What paths are relative to.
    pub scope: Scope,
    /// What was done before they were read, for people.
    pub notices: Vec<String>,
}

/// Reads everything that speaks about runs in `directory`.
pub fn read(
    directory: &Path,
    files: &Files,
    environment: &BTreeMap<OsString, OsString>,
    overrides: Overrides,
) -> Result<Said, Error> {
    let resolved = |path: &Path| {
        polder_sys::facts::resolve(path).map_err(|source| Error::Directory { path: path.to_owned(), source })
    };
    let directory = resolved(directory)?;
    let home = home(environment);
    let (mut documents, mut workspace, mut start) = (Vec::new(), directory.clone(), directory.clone());
    let mut faults = Vec::new();
    let places = places(&directory, files, environment, &mut faults);
    let all_found = faults.is_empty();
    for source in &places {
        let mut parsed = load(&source.path, source.level, &source.boundary)
            .and_then(|text| parse(&text, &polder_engines::vocabulary(), &home));
        if source.level == Level::Project {
            parsed = parsed.and_then(|document| seal(document, &source.boundary));
        }
        match parsed {
            Ok(document) => documents.push(document),
            Err(more) => faults.extend(more.0),
        }
        if source.level == Level::Project
            && let Some(parent) = source.path.parent()
        {
            // A project's file speaks for the tree it lies in, from wherever below it polder is called.
            workspace = parent.to_owned();
        }
    }
    if !faults.is_empty() {
        return Err(Faults(if all_found { with_undefined_names(&places, &home, faults) } else { faults }).into());
    }
    if let Some(root) = documents.iter().rev().find_map(Document::root) {
        workspace = root.root.as_path().to_owned();
        start = root.working_dir.as_path().to_owned();
    }
    let host_path = |path: &Path| {
        HostPath::new(path).map_err(|error| {
            let message = format!("`{}` {error}", path.display());
            Error::Configuration(Faults(vec![Fault { origin: Origin::BuiltIn, message, hint: None }]))
        })
    };
    let scope = Scope {
        home: host_path(&home)?,
        workspace_root: host_path(&resolved(&workspace)?)?,
        working_dir: host_path(&resolved(&start)?)?,
    };
    let environment = environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
        .collect();
    Ok(Said { layers: Layers { documents, environment, overrides }, scope, notices: Vec::new() })
}

/// The names that files define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinedNames {
    /// Those below `sandboxes`.
    pub sandboxes: BTreeSet<String>,
    /// Those below `steps`, or `checks` in a `.visor.yaml`.
    pub steps: BTreeSet<String>,
}

/// The names that the files for runs in `directory` define, whatever else is wrong with these files. For completing a
/// command line: a name is the text of its author, nothing is checked, and a file that cannot be read defines none.
pub fn names(directory: &Path, files: &Files, environment: &BTreeMap<OsString, OsString>) -> DefinedNames {
    let mut names = DefinedNames { sandboxes: BTreeSet::new(), steps: BTreeSet::new() };
    let Ok(directory) = polder_sys::facts::resolve(directory) else { return names };
    let places = places(&directory, files, environment, &mut Vec::new());
    let mut waiting: Vec<Source> =
        places.iter().filter_map(|place| load(&place.path, place.level, &place.boundary).ok()).collect();
    while let Some(Source { path, bytes, extends, .. }) = waiting.pop() {
        waiting.extend(extends);
        let Ok(tree) = read_tree(&path, &bytes) else { continue };
        let below = |key: &str| {
            let entries = tree.get(key).map(|node| node.entries()).unwrap_or_default();
            entries.iter().map(|entry| entry.key.clone()).collect::<Vec<_>>()
        };
        names.sandboxes.extend(below("sandboxes"));
        names.steps.extend(["steps", "checks"].into_iter().flat_map(below));
    }
    names
}

impl Said {
    /// The policy for a command that belongs to no step.
    pub fn policy(&self, trust: &Trust) -> Result<Policy, Error> {
        let mut policy = resolve(&self.layers, &polder_engines::vocabulary(), &self.scope, trust)?;
        self.name_workspace(&mut policy);
        Ok(policy)
    }

    /// Where the file belongs to another tool as well, its steps look for their workspace by that tool's names. What the
    /// policy sets itself comes later and wins.
    pub(crate) fn name_workspace(&self, policy: &mut Policy) {
        let visor = self.project().is_some_and(|document| Dialect::of(document.path()) == Dialect::Visor);
        if !visor || policy.workspace.value.mode == WorkspaceMode::Direct {
            return;
        }
        let root = self.scope.workspace_root.as_path();
        let inside = match &policy.workdir.value {
            Workdir::At(path) => path.to_string(),
            Workdir::Host => root.display().to_string(),
        };
        let asked = &policy.workspace.value;
        let own = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = asked.main_project_name.clone().unwrap_or(own);
        let main = if asked.projects.is_empty() { inside.clone() } else { format!("{inside}/{name}") };
        let names = [
            ("VISOR_WORKSPACE_ROOT", inside.clone()),
            ("VISOR_WORKSPACE_MAIN_PROJECT", main),
            ("VISOR_WORKSPACE_MAIN_PROJECT_NAME", name),
            ("VISOR_ORIGINAL_WORKDIR", self.scope.working_dir.to_string()),
        ];
        let origin = policy.workspace.origin.clone();
        let set = names.map(|(name, value)| Sourced::new((name.to_owned(), value), origin.clone()));
        policy.env.set.splice(0..0, set);
    }

    /// Who records runs.
    pub(crate) fn recorder(&self, environment: &BTreeMap<OsString, OsString>) -> Recorder {
        let records = records::directory(environment).map(Records::at);
        let granted = self.layers.overrides.allow.iter().map(ToString::to_string).collect();
        let project = self.project().map(|project| project.fingerprint().to_owned());
        let mode = self.layers.audit().map(|mode| mode.value);
        let visor = self.project().is_some_and(|document| Dialect::of(document.path()) == Dialect::Visor);
        let prefix = if visor { "visor" } else { "polder" };
        Recorder::new(audit::log(environment), mode, records).with(granted, project, prefix)
    }

    /// The same policy with what every run obeys protected: a workspace or a bind can lie around it. What polder keeps
    /// itself needs no rule: a plan hides it.
    pub(crate) fn shielded(&self, mut policy: Policy, environment: &BTreeMap<OsString, OsString>) -> Policy {
        let places: Vec<PathBuf> =
            policy.binds.iter().map(|bind| caches::resolved(bind.value.host.as_path())).collect();
        let root = self.scope.workspace_root.as_path();
        for path in obeyed(self.scope.home.as_path(), environment) {
            // Where it is the workspace itself, its file is the project's, and protected as that.
            let reached =
                path != root && places.iter().map(PathBuf::as_path).chain([root]).any(|shown| path.starts_with(shown));
            if let Some(text) = path.to_str().filter(|_| reached) {
                policy.protect.push(Sourced::built_in(PathPattern(text.to_owned())));
            }
        }
        // The plan hides what polder keeps, but for what lies elsewhere on purpose.
        if let Some(anchors) = audit::anchors(environment).map(|anchors| caches::resolved(&anchors)) {
            let shown = |place: &Path| anchors.starts_with(place);
            if let Some(text) = anchors.to_str().filter(|_| places.iter().any(|at| shown(at)) || shown(root)) {
                let rule = Sourced::built_in(PathPattern(text.to_owned()));
                policy.deny_read.push(rule.clone());
                policy.protect.push(rule);
            }
        }
        // The next run obeys these, too. A name in the project's own list is protected by the plan.
        for path in self.layers.files() {
            let resolved = caches::resolved(path);
            for path in [path, resolved.as_path()] {
                let own = path.parent() == Some(root)
                    && PROJECT_NAMES.iter().any(|name| path.file_name() == Some(OsStr::new(name)));
                let shown = places.iter().map(PathBuf::as_path).chain([root]);
                let reached = !own && shown.clone().any(|shown| path.starts_with(shown));
                if let Some(text) = path.to_str().filter(|_| reached) {
                    policy.protect.push(Sourced::built_in(PathPattern(text.to_owned())));
                }
            }
        }
        // The run of one sandbox must not say what is started beside the command of another one.
        let used = policy.image.as_ref().map(|image| image.origin.clone());
        for Sourced { value: file, origin } in self.layers.compose_files() {
            if let Some(text) = file.to_str().filter(|_| file.starts_with(root) && used.as_ref() != Some(&origin)) {
                policy.protect.push(Sourced::new(PathPattern(text.to_owned()), origin));
            }
        }
        policy
    }

    /// Everything that is wrong with it, its steps included.
    pub fn check(&self) -> Result<(), Error> {
        let (steps, mut faults) = polder_policy::steps_with_faults(&self.layers);
        // Everything is trusted here: the question is whether it is right, not whether it may.
        let policy = self.policy(&Trust::Everything).map(drop);
        // Whether steps can be understood, before they have values. Those of another tool are left to it.
        let understood = polder_steps::Graph::of(&steps, &[]).and_then(|graph| polder_steps::check(&steps, &graph));
        for found in [policy, understood.map_err(Error::from)] {
            match found {
                Ok(()) => {}
                Err(Error::Configuration(Faults(more))) => faults.extend(more),
                Err(other) => return Err(other),
            }
        }
        if faults.is_empty() {
            return Ok(());
        }
        faults.sort_by(|a, b| a.origin.cmp(&b.origin));
        faults.dedup();
        Err(Faults(faults).into())
    }

    /// Everything that the project's file asks for beyond its own tree.
    pub fn asks(&self) -> Vec<Ask> {
        asks(&self.layers, &polder_engines::vocabulary(), &self.scope)
    }

    /// The files that say what a run may do, with those that start something beside it or build an image for it.
    pub(crate) fn obeyed_files(&self) -> Vec<PathBuf> {
        self.layers.files().into_iter().map(Path::to_owned).chain(self.layers.named_files()).collect()
    }

    /// Those of them for which the user has given no word: neither all of them for this call, nor trust in the
    /// project's file, which covers the files that it names.
    pub(crate) fn unvouched_files(&self, trust: &Trust) -> Vec<PathBuf> {
        let trusted = self.project().filter(|project| trust.covers(project.fingerprint()));
        match (trust, trusted) {
            (Trust::Everything, _) => Vec::new(),
            (Trust::Only(_), None) => self.obeyed_files(),
            (Trust::Only(_), Some(_)) => {
                self.layers.files_of(Level::Explicit).into_iter().map(Path::to_owned).collect()
            }
        }
    }

    /// The project's file, if there is one.
    pub fn project(&self) -> Option<&Document> {
        self.layers.documents.iter().find(|document| document.level() == Level::Project)
    }
}

/// Which deeds are recorded, by the files of the system and of the user alone.
pub(crate) fn audit_mode(environment: &BTreeMap<OsString, OsString>) -> Result<Option<AuditMode>, Error> {
    Ok(own_layers(environment)?.audit().map(|mode| mode.value))
}

/// Who permits that a command reads beyond its policy while it is learnt, by the files of the system and of the user alone.
pub fn permissive(environment: &BTreeMap<OsString, OsString>) -> Result<Origin, Error> {
    Ok(own_layers(environment)?.permissive().map_err(Faults::from)?)
}

fn own_layers(environment: &BTreeMap<OsString, OsString>) -> Result<Layers, Error> {
    let home = home(environment);
    let (mut documents, mut faults) = (Vec::new(), Vec::new());
    for place in own_sources(&home, environment, &mut faults) {
        let parsed = load(&place.path, place.level, &place.boundary)
            .and_then(|text| parse(&text, &polder_engines::vocabulary(), &home));
        match parsed {
            Ok(document) => documents.push(document),
            Err(more) => faults.extend(more.0),
        }
    }
    if !faults.is_empty() {
        return Err(Faults(faults).into());
    }
    Ok(Layers { documents, environment: Vec::new(), overrides: Overrides::none() })
}

/// The faults of files with those that only all of them together show: names that none defines. One that cannot be read
/// could define any name.
fn with_undefined_names(places: &[Place], home: &Path, faults: Vec<Fault>) -> Vec<Fault> {
    let read: Result<Vec<Source>, Faults> =
        places.iter().map(|place| load(&place.path, place.level, &place.boundary)).collect();
    let Ok(sources) = read else { return faults };
    let mut all = polder_policy::faults(&sources, &polder_engines::vocabulary(), home);
    let others: Vec<Fault> = faults.into_iter().filter(|fault| !all.contains(fault)).collect();
    all.extend(others);
    all
}

struct Place {
    path: PathBuf,
    level: Level,
    boundary: PathBuf,
}

/// The files that are read, the weakest first.
fn places(
    directory: &Path,
    files: &Files,
    environment: &BTreeMap<OsString, OsString>,
    faults: &mut Vec<Fault>,
) -> Vec<Place> {
    let mut places = match files {
        Files::None => Vec::new(),
        Files::Found | Files::FoundAnd(_) => sources(directory, &home(environment), environment, faults),
    };
    if let Files::FoundAnd(path) = files {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let boundary = path.parent().map(Path::to_owned).unwrap_or_default();
        places.push(Place { path, level: Level::Explicit, boundary });
    }
    places
}

/// The system's, the user's and the project's file, as far as they exist.
fn sources(
    directory: &Path,
    home: &Path,
    environment: &BTreeMap<OsString, OsString>,
    faults: &mut Vec<Fault>,
) -> Vec<Place> {
    let mut places = own_sources(home, environment, faults);
    match find_project(directory) {
        Ok(Some(found)) => places.push(Place { path: found.path, level: Level::Project, boundary: found.root }),
        Ok(None) => {}
        Err(more) => faults.extend(more.0),
    }
    places
}

/// The system's and the user's file, as far as they exist.
fn own_sources(home: &Path, environment: &BTreeMap<OsString, OsString>, faults: &mut Vec<Fault>) -> Vec<Place> {
    let mut places = Vec::new();
    let user = user_directory(home, environment);
    for (dir, level) in [(PathBuf::from(SYSTEM_DIRECTORY), Level::System), (user, Level::User)] {
        match find_in(&dir, &OWN_NAMES) {
            Ok(Some(path)) => places.push(Place { path, level, boundary: dir }),
            Ok(None) => {}
            Err(more) => faults.extend(more.0),
        }
    }
    places
}

fn user_directory(home: &Path, environment: &BTreeMap<OsString, OsString>) -> PathBuf {
    let said = environment.get(&OsString::from("XDG_CONFIG_HOME")).map(PathBuf::from);
    said.filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(".config")).join("polder")
}

/// What every run of this user obeys without being asked, with links resolved: the directories of the system's and of the
/// user's file, and the files, which may be links into a collection of such files.
fn obeyed(home: &Path, environment: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
    let directories = [PathBuf::from(SYSTEM_DIRECTORY), user_directory(home, environment)];
    // What is not there lies in its directory, whatever it will be.
    let files = directories.iter().flat_map(|directory| OWN_NAMES.map(|name| directory.join(name)));
    let files: Vec<_> = files.filter(|file| file.symlink_metadata().is_ok()).collect();
    let mut paths: Vec<PathBuf> = directories.iter().chain(&files).map(|path| caches::resolved(path)).collect();
    let inside =
        |path: &PathBuf, others: &[PathBuf]| others.iter().any(|other| path != other && path.starts_with(other));
    let all = paths.clone();
    paths.retain(|path| !inside(path, &all));
    paths
}

/// The caller's home directory.
pub(crate) fn home(environment: &BTreeMap<OsString, OsString>) -> PathBuf {
    let from_environment = environment.get(&OsString::from("HOME")).map(PathBuf::from);
    from_environment.filter(|home| home.is_absolute()).unwrap_or_else(|| {
        let (uid, _) = polder_sys::wait::effective_ids();
        polder_sys::facts::passwd_entry(uid).map_or_else(|| PathBuf::from("/"), |(_, home)| home)
    })
}
