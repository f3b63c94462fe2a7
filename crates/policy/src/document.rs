//! One configuration file, read and checked: what it says, and where.

use crate::dialect::Dialect;
use crate::fault::{Fault, Faults};
use crate::layers::Layers;
use crate::lower;
use crate::model::{
    Access, AuditMode, Bind, Cache, Credential, EngineChoice, EnvPattern, GitIdentityUse, Image, Limits, Network,
    Observe, PathPattern, Ready, SandboxScope, Workdir, Workspace,
};
use crate::overrides::Overrides;
use crate::steps::steps;
use crate::trust;
use crate::vocabulary::Vocabulary;
use polder_facts::{Guarantee, GuestPath, HostPath, Origin, Sourced};
use std::path::{Path, PathBuf};

/// Who wrote a file, and so how far it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Polder itself: a profile that is compiled in. Never a layer of its own.
    Shipped,
    /// The administrator, in `/etc/polder/`.
    System,
    /// The user, in `$XDG_CONFIG_HOME/polder/`.
    User,
    /// Somebody, in a repository.
    Project,
    /// The user, by `--config`.
    Explicit,
}

/// The bytes of a configuration file, with those of every file that it extends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it was found.
    pub path: PathBuf,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// Who wrote it.
    pub level: Level,
    /// Whose rules it follows; the files that it extends follow the same.
    pub dialect: Dialect,
    /// The files that it extends, weakest first.
    pub extends: Vec<Self>,
}

impl Source {
    /// A file that extends nothing.
    pub fn new(path: impl Into<PathBuf>, bytes: impl Into<Vec<u8>>, level: Level) -> Self {
        let path = path.into();
        Self { dialect: Dialect::of(&path), path, bytes: bytes.into(), level, extends: Vec::new() }
    }

    /// The paths of the files that it extends, then its own: weakest first.
    fn chain(&self) -> Vec<&Path> {
        self.extends.iter().flat_map(Self::chain).chain([self.path.as_path()]).collect()
    }
}

/// A configuration file without faults.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub(crate) path: PathBuf,
    pub(crate) level: Level,
    pub(crate) fingerprint: String,
    pub(crate) extends: Vec<Document>,
    pub(crate) sandboxes: Vec<(String, Definition)>,
    /// The profiles of every sandbox.
    pub(crate) profiles: Vec<Sourced<String>>,
    /// The sandbox of whoever names none.
    pub(crate) default: Option<Sourced<String>>,
    /// What replaces the built-in list of variables; the origin says where, even when the list is empty.
    pub(crate) env_defaults: Option<Sourced<Vec<Sourced<EnvPattern>>>>,
    pub(crate) steps: Vec<StepDefinition>,
    /// What runs beside steps, in the same form.
    pub(crate) services: Vec<StepDefinition>,
    pub(crate) max_parallelism: Option<Sourced<u64>>,
    pub(crate) enforce: Option<Definition>,
    pub(crate) allow_unsandboxed: Option<Sourced<bool>>,
    pub(crate) allow_permissive: Option<Sourced<bool>>,
    pub(crate) audit: Option<Sourced<AuditMode>>,
    pub(crate) root: Option<SpecRoot>,
    /// Keys of the file that only another tool reads.
    pub(crate) unread: Vec<Sourced<String>>,
}

/// The tree that a `SandboxSpec` names as its workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecRoot {
    /// The root on the host.
    pub root: HostPath,
    /// The working directory on the host.
    pub working_dir: HostPath,
}

/// What one layer says about one sandbox. An absent field is one that it does not speak about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    pub(crate) origin: Origin,
    pub(crate) engine: Option<Sourced<EngineChoice>>,
    pub(crate) network: Option<Sourced<Network>>,
    /// The network that the file's dialect implies, as long as no layer speaks about it.
    pub(crate) network_implied: Option<Sourced<Network>>,
    pub(crate) access: Option<Sourced<Access>>,
    pub(crate) workdir: Option<Sourced<Workdir>>,
    /// Where the file's dialect puts the workspace, as long as no layer says it.
    pub(crate) workdir_implied: Option<Sourced<Workdir>>,
    pub(crate) workspace: Option<Sourced<Workspace>>,
    pub(crate) observe: Option<Sourced<Observe>>,
    pub(crate) scope: Option<Sourced<SandboxScope>>,
    pub(crate) profiles: Option<Sourced<Vec<Sourced<String>>>>,
    pub(crate) path: Vec<Sourced<PathBuf>>,
    pub(crate) git_identity: Option<Sourced<GitIdentityUse>>,
    pub(crate) env_pass: Option<Sourced<Vec<Sourced<EnvPattern>>>>,
    pub(crate) env_set: Vec<Sourced<(String, String)>>,
    pub(crate) binds: Option<Sourced<Vec<Sourced<Bind>>>>,
    pub(crate) limits: Limits,
    pub(crate) protect: Vec<Sourced<PathPattern>>,
    pub(crate) deny_read: Vec<Sourced<PathPattern>>,
    pub(crate) unprotect: Vec<Sourced<PathPattern>>,
    pub(crate) credentials: Option<Sourced<Vec<Sourced<Credential>>>>,
    pub(crate) cache: Option<Sourced<Cache>>,
    pub(crate) image: Option<Sourced<Image>>,
    pub(crate) visor_path: Option<Sourced<GuestPath>>,
    pub(crate) require: Vec<Sourced<Guarantee>>,
    pub(crate) accept: Option<Sourced<Vec<Sourced<Guarantee>>>>,
    pub(crate) options: Option<Sourced<serde_json::Value>>,
}

impl Definition {
    /// One that says nothing yet.
    pub(crate) const fn silent(origin: Origin) -> Self {
        Self {
            origin,
            engine: None,
            network: None,
            network_implied: None,
            access: None,
            workdir: None,
            workdir_implied: None,
            workspace: None,
            observe: None,
            scope: None,
            profiles: None,
            path: Vec::new(),
            git_identity: None,
            env_pass: None,
            env_set: Vec::new(),
            binds: None,
            limits: Limits::absent(),
            protect: Vec::new(),
            deny_read: Vec::new(),
            unprotect: Vec::new(),
            credentials: None,
            cache: None,
            image: None,
            visor_path: None,
            require: Vec::new(),
            accept: None,
            options: None,
        }
    }
}

/// What one layer says about one step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepDefinition {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) kind: Option<Sourced<String>>,
    pub(crate) exec: Option<Sourced<String>>,
    pub(crate) command: Option<Sourced<Vec<String>>>,
    pub(crate) sandbox: Option<Sourced<String>>,
    pub(crate) depends_on: Option<Vec<Sourced<String>>>,
    pub(crate) continue_on_failure: Option<bool>,
    pub(crate) condition: Option<Sourced<String>>,
    pub(crate) stdin: Option<Sourced<String>>,
    /// What runs beside it.
    pub(crate) services: Option<Vec<Sourced<String>>>,
    /// How it is known that a service can be used.
    pub(crate) ready: Option<Sourced<Ready>>,
    /// Its keys that only another tool reads.
    pub(crate) unread: Vec<Sourced<String>>,
    /// What it changes in its sandbox.
    pub(crate) changes: Definition,
}

impl Document {
    /// Where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who wrote it.
    pub const fn level(&self) -> Level {
        self.level
    }

    /// The hash under which it is trusted: over its content, that of every file it extends or names, and,
    /// once it is sealed, over the repository that it lies in.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The tree to work on, when the file names one: only a `SandboxSpec` does.
    pub const fn root(&self) -> Option<&SpecRoot> {
        self.root.as_ref()
    }

    /// The names of the sandboxes that it defines, in its order, without those of the files it extends.
    pub fn sandboxes(&self) -> impl Iterator<Item = &str> {
        self.sandboxes.iter().map(|(name, _)| name.as_str())
    }

    /// The recipes and compose files that any of its sandboxes names, with the lines that name them.
    pub(crate) fn named_files(&self) -> Vec<Sourced<PathBuf>> {
        let definitions = self.chain().into_iter().flat_map(|document| &document.sandboxes);
        let images = definitions.filter_map(|(_, definition)| definition.image.as_ref());
        let file = |image: &Sourced<Image>| match &image.value {
            Image::Recipe(file) | Image::Compose { file, .. } => {
                Some(Sourced::new(PathBuf::from(file), image.origin.clone()))
            }
            Image::Named(_) | Image::Inline(_) => None,
        };
        images.filter_map(file).collect()
    }

    /// The files that it extends, then itself: weakest first.
    pub(crate) fn chain(&self) -> Vec<&Self> {
        let mut chain: Vec<_> = self.extends.iter().flat_map(Self::chain).collect();
        chain.push(self);
        chain
    }
}

/// Reads a file and those that it extends, and reports everything that is wrong with them.
pub fn parse(source: &Source, vocabulary: &Vocabulary, home: &Path) -> Result<Document, Faults> {
    let mut faults = Vec::new();
    let mut extends = Vec::new();
    for base in &source.extends {
        match parse(base, vocabulary, home) {
            Ok(document) => extends.push(document),
            Err(Faults(more)) => faults.extend(more),
        }
    }
    match lower::file(source, vocabulary, home) {
        Ok(document) => {
            Faults::check(Document { extends, fingerprint: trust::fingerprint(source), ..document }, faults)
        }
        Err(Faults(more)) => {
            faults.extend(more);
            Err(Faults(faults))
        }
    }
}

/// Everything that is wrong with these files: beside what [`parse`] reports of each, names that are used and defined in
/// none of them. Those are known only when every file could be read.
pub fn faults(sources: &[Source], vocabulary: &Vocabulary, home: &Path) -> Vec<Fault> {
    let (mut documents, mut faults, mut unread) = (Vec::new(), Vec::new(), false);
    for source in sources {
        match understood(source, vocabulary, home, &mut faults) {
            Some(document) => documents.push(document),
            None => unread = true,
        }
    }
    if !unread {
        let layers = Layers { documents, environment: Vec::new(), overrides: Overrides::none() };
        faults.extend(steps(&layers).err().into_iter().flat_map(|Faults(more)| more));
    }
    let order: Vec<&Path> = sources.iter().flat_map(Source::chain).collect();
    faults.sort_by_key(|fault| match &fault.origin {
        Origin::File { path, line } => (order.iter().position(|other| other == path), *line),
        _ => (None, 0),
    });
    faults.dedup();
    faults
}

/// A file as far as it has a meaning; nothing when it cannot be read. Never becomes a policy.
fn understood(source: &Source, vocabulary: &Vocabulary, home: &Path, faults: &mut Vec<Fault>) -> Option<Document> {
    let extends: Vec<_> = source.extends.iter().map(|base| understood(base, vocabulary, home, faults)).collect();
    let (document, more) = lower::file_with_faults(source, vocabulary, home);
    faults.extend(more);
    Some(Document { extends: extends.into_iter().collect::<Option<_>>()?, ..document? })
}

#[cfg(test)]
mod tests;
