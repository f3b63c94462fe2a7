//! Intent: what a command may do, after every layer has spoken. Knows no engine.
//!
//! Nothing here has a `Default`: whoever makes a policy says what it grants.

use polder_facts::{ByteSize, Guarantee, GuestPath, HostPath, Origin, Sourced, Span};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// What one command may do.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The name of the sandbox in the configuration, when it has one.
    pub name: Option<String>,
    /// Which engine enforces it.
    pub engine: Sourced<EngineChoice>,
    /// What it may reach.
    pub network: Sourced<Network>,
    /// Whether the workspace can be written.
    pub access: Sourced<Access>,
    /// Where the workspace appears inside.
    pub workdir: Sourced<Workdir>,
    /// How the workspace is protected from the run.
    pub workspace: Sourced<Workspace>,
    /// How closely a run is watched for what it is denied.
    pub observe: Sourced<Observe>,
    /// How long what an engine makes for it lives.
    pub scope: Sourced<SandboxScope>,
    /// The profiles that were asked for, each once; their rules stand among the others.
    pub profiles: Vec<Sourced<String>>,
    /// Which variables enter.
    pub env: EnvRules,
    /// Directories of the host that stand in front of `PATH` inside, as far as they are there.
    pub path: Vec<Sourced<PathBuf>>,
    /// Whether git inside has the user's name and address.
    pub git_identity: Sourced<GitIdentityUse>,
    /// Host paths beside the workspace.
    pub binds: Vec<Sourced<Bind>>,
    /// Upper bounds.
    pub limits: Limits,
    /// Paths that cannot be written, relative to the workspace or absolute; globs allowed.
    pub protect: Vec<Sourced<PathPattern>>,
    /// Paths that cannot be read, in the same form.
    pub deny_read: Vec<Sourced<PathPattern>>,
    /// Protections that a grant lifts again, in the same form.
    pub unprotect: Vec<Sourced<PathPattern>>,
    /// Credentials for the broker.
    pub credentials: Vec<Sourced<Credential>>,
    /// Directories kept between runs.
    pub cache: Option<Sourced<Cache>>,
    /// Whether what runs is not trusted with them: they are shown as they are, and nothing in them changes.
    pub untrusted: Option<Sourced<()>>,
    /// The service that the command is, when it is one; with what it keeps between its starts.
    pub service: Option<Sourced<Service>>,
    /// What shares its network with it, when something does. Said by whoever runs steps, never by a sandbox.
    pub beside: Option<Sourced<Beside>>,
    /// What the sandbox's file system is made from, for engines that take images.
    pub image: Option<Sourced<Image>>,
    /// Where the runner of a `.visor.yaml` is mounted inside.
    pub visor_path: Option<Sourced<GuestPath>>,
    /// Guarantees that must be enforced, not merely in a weaker way.
    pub require: Vec<Sourced<Guarantee>>,
    /// Guarantees whose gaps the user accepts.
    pub accept: Vec<Sourced<Guarantee>>,
    /// Whether the engine that enforces nothing may be asked for. Never said by a project.
    pub allow_unsandboxed: Option<Sourced<()>>,
    /// Tables that belong to engines, by engine id; parsed in the engine's own folder.
    pub engine_options: BTreeMap<String, Sourced<serde_json::Value>>,
}

/// A long-lived command with a directory of its own. Said by the caller, never by a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// What it is called.
    pub name: String,
    /// What it keeps: a directory that nobody else is shown.
    pub state: HostPath,
}

/// The commands on one network: a step and its services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// What the services are called, in the order in which they start.
    pub services: Vec<String>,
}

/// Which engine enforces a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// The strongest that can keep every rule here.
    Auto,
    /// This one and no other.
    Named(String),
}

/// What happens to a run that cannot be recorded; the stricter one is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditMode {
    /// Only runs without a sandbox are recorded.
    Off,
    /// Every run is recorded; one that cannot be starts with a warning.
    BestEffort,
    /// Every run is recorded; one that cannot be does not start.
    Required,
}

/// What may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// How much.
    pub mode: NetworkMode,
    /// Peers that the broker lets through, with `restricted`.
    pub allow: Vec<Sourced<String>>,
    /// Peers that it never lets through.
    pub deny: Vec<Sourced<String>>,
}

/// How much network there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkMode {
    /// A loopback of its own and nothing else.
    None,
    /// Only what the broker lets through.
    Restricted,
    /// The host's network.
    Full,
}

/// Whether something can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    ReadOnly,
    /// Reading and writing.
    ReadWrite,
}

/// Where the workspace appears inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workdir {
    /// At the path it has on the host.
    Host,
    /// At this path.
    At(GuestPath),
}

/// How closely a run is watched for what it is denied. Nothing is enforced more or less by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Observe {
    /// Not at all.
    Off,
    /// What is rare: writing, execution, peers, refused system calls.
    Cheap,
    /// What opens and finds files as well.
    Exact,
}

impl Observe {
    /// Every mode, the least first.
    pub const ALL: [Self; 3] = [Self::Off, Self::Cheap, Self::Exact];

    /// The word in configuration and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Cheap => "cheap",
            Self::Exact => "exact",
        }
    }
}

impl std::str::FromStr for Observe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("`{text}` is not one of {}", Self::ALL.map(Self::name).join(", "));
        Self::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(fault)
    }
}

/// How long what an engine makes for a sandbox lives, where that is more than the walls of one run. No run sees more or
/// less of another by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxScope {
    /// As long as the session: its runs share it.
    Session,
    /// As long as one run.
    Run,
}

impl SandboxScope {
    /// Every scope, the widest first.
    pub const ALL: [Self; 2] = [Self::Session, Self::Run];

    /// The word in configuration and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Run => "run",
        }
    }
}

impl std::str::FromStr for SandboxScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("`{text}` is not one of {}", Self::ALL.map(Self::name).join(", "));
        Self::ALL.into_iter().find(|scope| scope.name() == text).ok_or_else(fault)
    }
}

/// How the workspace is protected from the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The way.
    pub mode: WorkspaceMode,
    /// A name under which several runs share one workspace.
    pub name: Option<String>,
    /// The workspace whose changes a new one begins with; it stays as it is.
    pub from: Option<String>,
    /// Whether the changes stay for review when the run has ended.
    pub keep: bool,
    /// Whether a worktree begins with files that git does not know, beside those that it does. Ignored ones stay out.
    pub untracked: bool,
    /// Other repositories that a worktree has beside the tree's own. With any, each has a directory of its own inside.
    pub projects: Vec<Project>,
    /// What the tree's own directory is called beside them; absent for its name on the host.
    pub main_project_name: Option<String>,
}

/// A repository beside that of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// What its directory is called inside.
    pub name: String,
    /// Its root on the host.
    pub host: HostPath,
    /// Who said so.
    pub origin: Origin,
}

impl Workspace {
    /// The real tree, or a way to keep changes apart from it for review.
    pub const fn of(mode: WorkspaceMode) -> Self {
        Self {
            mode,
            name: None,
            from: None,
            keep: true,
            untracked: false,
            projects: Vec::new(),
            main_project_name: None,
        }
    }
}

/// The ways to give a command a tree to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceMode {
    /// The real tree.
    Direct,
    /// A private layer over the real tree.
    Cow,
    /// A private copy of what git knows of the tree, with a layer over it.
    Worktree,
}

/// A host path that is visible inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// The path on the host.
    pub host: HostPath,
    /// The path inside.
    pub guest: GuestPath,
    /// Whether it can be written.
    pub access: Access,
    /// Whether the run goes on without it where the host does not have it.
    pub optional: bool,
}

/// Whether git inside has the user's name and address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitIdentityUse {
    /// It has what the user's own configuration of git says, and nothing else of that.
    Given,
    /// It has none.
    Withheld,
}

/// Upper bounds; an absent one means that nothing was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Memory of all processes together.
    pub memory: Option<Sourced<ByteSize>>,
    /// CPU seconds per second.
    pub cpus: Option<Sourced<f64>>,
    /// Processes and threads together.
    pub pids: Option<Sourced<u64>>,
    /// Bytes in the private file systems.
    pub disk: Option<Sourced<ByteSize>>,
    /// Open files of one process.
    pub files: Option<Sourced<u64>>,
    /// Bytes on stdout and stderr together.
    pub output: Option<Sourced<ByteSize>>,
    /// Time from start to end.
    pub timeout: Option<Sourced<Span>>,
}

/// Which variables enter: the environment is cleared, then these speak in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvRules {
    /// Patterns for the caller's variables: the built-in list or what replaced it, then the sandbox's own.
    pub pass: Vec<Sourced<EnvPattern>>,
    /// Variables set to a value, last one wins.
    pub set: Vec<Sourced<(String, String)>>,
}

/// A pattern for names of variables: `*` anywhere, a leading `!` takes away what earlier patterns gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvPattern {
    /// The text without the `!`.
    pub glob: String,
    /// Whether it takes away.
    pub negated: bool,
}

/// A path or glob, relative to the workspace, absolute, or below the home directory (already expanded to absolute).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathPattern(pub String);

/// A credential for some hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// Its name in reports.
    pub name: String,
    /// Where the secret is, such as `env:GITHUB_TOKEN`; never the secret.
    pub source: String,
    /// The hosts that may see it.
    pub hosts: Vec<String>,
    /// How it gets there.
    pub via: Via,
}

/// How a credential gets to its hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// The broker puts it into requests, and the command never sees it.
    Broker,
    /// The command has it as variables.
    Environment,
}

/// Directories kept between runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Where they appear inside.
    pub paths: Vec<CachePath>,
    /// What separates one cache from another.
    pub prefix: Option<String>,
    /// Where to copy from when the cache is new.
    pub fallback_prefix: Option<String>,
    /// How long an unused one is kept.
    pub ttl: Span,
    /// How many are kept.
    pub max_scopes: u32,
}

/// Where a kept directory appears inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CachePath {
    /// At this path.
    At(GuestPath),
    /// Below the home directory that the command has inside, whichever that is.
    InHome(PathBuf),
}

impl fmt::Display for CachePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(path) => path.fmt(f),
            Self::InHome(below) => write!(f, "~/{}", below.display()),
        }
    }
}

/// What the sandbox's file system is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// An image by name.
    Named(String),
    /// A recipe in a file, relative to the configuration file.
    Recipe(String),
    /// A recipe in the configuration.
    Inline(String),
    /// A service of a compose file.
    Compose {
        /// The file.
        file: String,
        /// The service in it.
        service: String,
    },
}

/// One step of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Where it is defined.
    pub origin: Origin,
    /// `command` and nothing else runs; other types are kept so that they can be refused by name.
    pub kind: Sourced<String>,
    /// A shell text.
    pub exec: Option<Sourced<String>>,
    /// A program and its arguments, instead of a shell text.
    pub command: Option<Sourced<Vec<String>>>,
    /// The sandbox it asks for; `none` is the explicit opt-out.
    pub sandbox: Option<Sourced<String>>,
    /// What must have run before; `a|b` is any of them.
    pub depends_on: Vec<Sourced<String>>,
    /// Whether later steps run when this one fails.
    pub continue_on_failure: bool,
    /// A condition under which it runs.
    pub condition: Option<Sourced<String>>,
    /// What it reads on its standard input.
    pub stdin: Option<Sourced<String>>,
    /// What runs beside it.
    pub services: Vec<Sourced<String>>,
    /// Its own variables, as they are written; they are also in its policy.
    pub env: Vec<Sourced<(String, String)>>,
    /// Its keys that only another tool reads.
    pub unread: Vec<Sourced<String>>,
}

/// A command that runs beside steps, on a loopback that they share.
#[derive(Clone, Debug, PartialEq)]
pub struct StepService {
    /// What runs; what it depends on are services.
    pub step: Step,
    /// How it is known that it can be used.
    pub ready: Sourced<Ready>,
}

/// How it is known that a service can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// What shows it.
    pub by: ReadyBy,
    /// How long to wait for that.
    pub timeout: Span,
}

/// What shows that a service can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadyBy {
    /// Somebody listens on this TCP port.
    Port(u16),
    /// This shell text succeeds in the service's own sandbox.
    Exec(String),
}

impl Limits {
    /// No limit was asked for.
    pub const fn absent() -> Self {
        Self { memory: None, cpus: None, pids: None, disk: None, files: None, output: None, timeout: None }
    }

    /// Takes over each limit that a stronger layer speaks about.
    pub(crate) fn replace(&mut self, stronger: &Self) {
        let Self { memory, cpus, pids, disk, files, output, timeout } = stronger.clone();
        *self = Self {
            memory: memory.or_else(|| self.memory.take()),
            cpus: cpus.or_else(|| self.cpus.take()),
            pids: pids.or_else(|| self.pids.take()),
            disk: disk.or_else(|| self.disk.take()),
            files: files.or_else(|| self.files.take()),
            output: output.or_else(|| self.output.take()),
            timeout: timeout.or_else(|| self.timeout.take()),
        };
    }
}

impl Network {
    /// This much, and no list.
    pub const fn of(mode: NetworkMode) -> Self {
        Self { mode, allow: Vec::new(), deny: Vec::new() }
    }
}

impl Via {
    /// The word in configuration and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broker => "broker",
            Self::Environment => "environment",
        }
    }
}

impl AuditMode {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Off, Self::BestEffort, Self::Required];

    /// The word in configuration and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::BestEffort => "best_effort",
            Self::Required => "required",
        }
    }
}

impl NetworkMode {
    /// The word in configuration and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Restricted => "restricted",
            Self::Full => "full",
        }
    }
}

impl WorkspaceMode {
    /// The word in configuration and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Cow => "cow",
            Self::Worktree => "worktree",
        }
    }
}
