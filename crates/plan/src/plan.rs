//! The plan's own types.

use polder_facts::git::{GitFacts, GitIdentity};
use polder_facts::{ByteSize, Guarantee, GuestPath, HostPath, Origin, Sourced, Span};
use polder_policy::{
    Access, Beside, Credential, EngineChoice, Image, Limits, Network, Observe, SandboxScope, Workspace,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What will happen.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The sandbox's name in the configuration, when it has one.
    pub sandbox: Option<String>,
    /// Which engine was asked for.
    pub engine: Sourced<EngineChoice>,
    /// The command and its arguments, exactly as given.
    pub command: Vec<OsString>,
    /// Whose file system it sees.
    pub world: World,
    /// Where it starts.
    pub workdir: GuestPath,
    /// Who it is inside.
    pub identity: Identity,
    /// Its whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Which rule lets a variable in, where that is no rule of polder's own.
    pub env_origins: BTreeMap<OsString, Origin>,
    /// Directories that stand in front of the caller's `PATH`, at their places inside.
    pub path: Vec<Sourced<PathBuf>>,
    /// Who commits inside; absent where git reads the host's own configuration.
    pub git_identity: Option<GitIdentity>,
    /// What it sees.
    pub files: FileView,
    /// What it reaches.
    pub network: Sourced<Network>,
    /// What shares its network with it, when something does.
    pub beside: Option<Sourced<Beside>>,
    /// How the workspace is protected from the run.
    pub workspace: Sourced<Workspace>,
    /// How closely the run is watched for what it is denied.
    pub observe: Sourced<Observe>,
    /// How long what an engine makes for the sandbox lives.
    pub scope: Sourced<SandboxScope>,
    /// Upper bounds.
    pub limits: Limits,
    /// What the file system is made from, for engines that take images.
    pub image: Option<Sourced<Image>>,
    /// Directories kept between runs.
    pub caches: Option<Sourced<Caches>>,
    /// Credentials for the broker.
    pub credentials: Vec<Sourced<Credential>>,
    /// Guarantees that must be enforced in full.
    pub require: Vec<Sourced<Guarantee>>,
    /// Guarantees whose gaps are accepted.
    pub accept: Vec<Sourced<Guarantee>>,
    /// Whether the engine that enforces nothing is permitted.
    pub unsandboxed_permitted: Option<Origin>,
    /// Tables that belong to engines, as JSON text in a fixed order.
    pub engine_options: BTreeMap<String, Sourced<String>>,
}

/// Whose file system a command sees. Engines differ in this, and a plan must not promise a path that cannot be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// One that is made for it: everything appears where the policy says.
    Made,
    /// The host's own, behind rules: everything is where it is, and what is not allowed cannot be opened.
    Ruled,
    /// The host's own, all of it, without a rule.
    Open,
}

/// Who the command is inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Whether the caller is root on the host.
    pub caller_is_root: bool,
    /// The uid inside.
    pub uid: u32,
    /// The gid inside.
    pub gid: u32,
    /// The name that `whoami` prints.
    pub name: String,
    /// An empty, writable directory.
    pub home: GuestPath,
    /// The name of the machine inside.
    pub hostname: &'static str,
}

impl Plan {
    /// Where the workspace appears inside.
    pub fn workspace_guest(&self) -> &GuestPath {
        let workspace = self.files.shown.iter().find(|shown| shown.role == Role::Workspace);
        workspace.map_or(&self.workdir, |shown| &shown.guest)
    }

    /// Whether a path of the host is there inside, at the same path.
    pub fn shows(&self, path: &Path) -> bool {
        let FileView { system, configuration, shown, .. } = &self.files;
        let is_system = system.iter().any(|entry| path.starts_with(entry.path.as_path()));
        let in_etc = |entry: &Configuration| {
            let (Configuration::File(name) | Configuration::Directory(name)) = entry;
            path.starts_with(Path::new("/etc").join(name))
        };
        self.world == World::Open
            || is_system
            || shown.iter().any(|shown| path.starts_with(shown.guest.as_path()))
            || configuration.iter().any(in_etc)
    }

    /// Places of the host that commands write: the workspace, in every run or in another, and what this one may write.
    /// Links in them are theirs.
    pub fn written_places(&self) -> impl Iterator<Item = &Path> {
        let writes = |shown: &&Shown| shown.role == Role::Workspace || shown.access == Access::ReadWrite;
        self.files.shown.iter().filter(writes).map(|shown| shown.host.as_path())
    }
}

/// What the command sees, parents before children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileView {
    /// Directories of programs, read-only.
    pub system: Vec<SystemEntry>,
    /// Entries of `/etc` that are taken from the host when they exist.
    pub configuration: Vec<Configuration>,
    /// Small files that polder writes itself.
    pub written: Vec<Written>,
    /// Host paths: the workspace first, then the others in order.
    pub shown: Vec<Shown>,
    /// Sources of optional binds that the host does not have: they appear nowhere inside.
    pub absent: Vec<Sourced<HostPath>>,
    /// Files that the command may write and cannot replace by rename.
    pub unreplaceable: Vec<Unreplaceable>,
    /// Paths that are protected or hidden.
    pub masks: Vec<Mask>,
    /// Directories that must not be renamed, because a mask lies below them.
    pub pinned: Vec<GuestPath>,
    /// Names that must not come into being.
    pub reserved: Vec<Reserved>,
    /// Files that are set aside when the run has ended.
    pub swept: Vec<Swept>,
    /// Git dirs that the command can write: at the end, nothing new in them may be obeyed.
    pub git: GitView,
    /// What polder keeps about runs, on the host. Nobody is ever shown it.
    pub kept: Option<HostPath>,
    /// Patterns that protect only what exists when the run begins.
    pub partial_patterns: Vec<Sourced<String>>,
    /// Patterns and absent paths of `deny_read`: what the host makes there while the command runs is not hidden.
    pub hidden_at_start: Vec<Sourced<String>>,
    /// The size of the private file systems together.
    pub scratch: ByteSize,
}

/// A directory of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemEntry {
    /// Where it is, on the host and inside.
    pub path: GuestPath,
    /// What it is.
    pub kind: SystemKind,
}

/// What a system path is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemKind {
    /// A directory, shown read-only.
    Directory,
    /// A symbolic link, made anew.
    Link(OsString),
}

/// An entry of `/etc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configuration {
    /// A small file, copied.
    File(&'static str),
    /// A directory, shown read-only.
    Directory(&'static str),
}

/// A file that polder writes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where.
    pub path: GuestPath,
    /// What it says.
    pub content: String,
}

/// A host path that is visible inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The path on the host, without symbolic links.
    pub host: HostPath,
    /// The path inside.
    pub guest: GuestPath,
    /// Whether it can be written.
    pub access: Access,
    /// Whether it is a directory.
    pub directory: bool,
    /// Why it is visible.
    pub role: Role,
    /// Who asked for it.
    pub origin: Origin,
}

/// A file that is bound read-write. It is a mount point inside, and the kernel lets no rename replace one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreplaceable {
    /// The file on the host.
    pub file: HostPath,
    /// Its directory, where that can be bound instead; absent where it holds the home directory.
    pub directory: Option<HostPath>,
}

impl std::fmt::Display for Unreplaceable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let file = &self.file;
        write!(
            f,
            "`{file}` can be written in place and not replaced: a program that renames a new file over it gets "
        )?;
        write!(f, "EBUSY, because a bound file is a mount point; ")?;
        match &self.directory {
            Some(directory) => write!(f, "--bind {directory}:rw shows its directory instead"),
            None => write!(f, "keep it in a directory of its own, and bind that"),
        }
    }
}

/// Why a host path is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The tree that the command works on.
    Workspace,
    /// Git's own part of a repository whose tree is the workspace, or holds it.
    Repository,
    /// The tree around a workspace that is a part of a repository.
    EnclosingTree,
    /// The policy asks for it.
    Bind,
    /// It is kept between runs.
    Cache,
    /// A service keeps it, and nobody else is shown it.
    State,
    /// It is let through while a command is learnt, and the policy does not show it.
    Lent,
}

/// Directories that are kept between runs. They are shown like other paths; this says what has to be there first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caches {
    /// The directory of all caches on the host.
    pub store: HostPath,
    /// Whose they are, for people.
    pub repository: String,
    /// The sandbox that they belong to, when it has a name.
    pub sandbox: Option<String>,
    /// The name in the store of everything that this repository keeps for this sandbox. Nothing else is ever removed.
    pub family: String,
    /// What this run uses.
    pub scope: Scope,
    /// What a new scope starts from.
    pub fallback: Option<Scope>,
    /// The directories, in the order in which they were said.
    pub kept: Vec<Kept>,
    /// How long an unused scope is kept.
    pub ttl: Span,
    /// How many scopes are kept.
    pub max_scopes: u32,
    /// What the run may do with them.
    pub sharing: Sharing,
}

/// The caches of one prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The prefix as it was said.
    pub prefix: String,
    /// The name in the family.
    pub name: String,
}

/// One kept directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Where it appears inside.
    pub guest: GuestPath,
    /// Its name in a scope.
    pub name: String,
    /// The scope that it is shown from; absent when there is none yet and none may be made.
    pub source: Option<String>,
}

/// What a run may do with caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Use, make and change them.
    ReadWrite,
    /// See what is there. Nothing is made, nothing is changed.
    RestoreOnly,
}

/// A path that exists and that is protected or hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Where it is inside.
    pub path: GuestPath,
    /// What is kept from it.
    pub kind: MaskKind,
    /// The rule.
    pub origin: Origin,
    /// What a grant has to name to lift it, where one can.
    pub lifted_by: Option<String>,
}

/// What a mask keeps from a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MaskKind {
    /// Writing.
    Protect,
    /// Reading and writing.
    Hide,
}

/// A name that must not come into being, in any directory of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// The name.
    pub name: String,
    /// Where it was when the run began, below the workspace.
    pub existing: Vec<PathBuf>,
    /// The rule.
    pub origin: Origin,
    /// What a grant has to name to lift it, where one can.
    pub lifted_by: Option<String>,
}

/// A file that is set aside when it comes into being: renamed, so that nothing obeys it and nothing is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// The shown tree that it would be in, on the host.
    pub tree: HostPath,
    /// Its path in that tree.
    pub relative: PathBuf,
    /// Where it would be inside.
    pub path: GuestPath,
    /// Only if all of these exist in the same directory.
    pub only_with: Vec<String>,
    /// The rule.
    pub origin: Origin,
    /// What a grant has to name to lift it, where one can.
    pub lifted_by: Option<String>,
    /// Whose rule it is.
    pub asked: Asked,
}

/// Why a name must not come into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The policy protects it.
    ByRule,
    /// Programs on the host would obey it, which none does in a layer.
    BuiltIn,
}

/// The git dirs that a command can write, for a look at them when the run has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitView {
    /// The writable trees on the host; the first is the workspace.
    pub trees: Vec<PathBuf>,
    /// What git obeyed in them when the run began; read-only during the run.
    pub before: GitFacts,
    /// Configurations that the command has a private copy of, whose harmless keys are taken over at the end
    /// where the engine can; they are protected as well.
    pub configs: Vec<KeyedConfig>,
    /// Names that git would obey and that were missing: set aside by the shim where polder was
    /// killed, so that nothing is left to judge their content.
    pub missing: Vec<Swept>,
    /// The rule.
    pub origin: Option<Origin>,
}

/// A configuration of git that is judged by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedConfig {
    /// The shown tree that it is in, on the host.
    pub tree: HostPath,
    /// Its path in that tree.
    pub relative: PathBuf,
    /// Where it is inside.
    pub path: GuestPath,
    /// Its text when the run began.
    pub base: String,
}

impl FileView {
    /// The workspace on the host.
    pub fn workspace_host(&self) -> Option<&Path> {
        self.shown.iter().find(|shown| shown.role == Role::Workspace).map(|shown| shown.host.as_path())
    }
}

impl Swept {
    /// What is added to the name of a file that is set aside.
    pub const SUFFIX: &str = ".from-sandbox";
}
