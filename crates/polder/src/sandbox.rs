//! Saying what a command may do.

use crate::config::{Files, Said};
use crate::credentials::{self, Placed};
use crate::error::Error;
use crate::leftovers;
use crate::planned::Planned;
use crate::service::{self, ServiceName};
use crate::session::Session;
use crate::steps::{PlannedSteps, StepsAsked};
use crate::trust;
use polder_facts::{Grant, Guarantee, GuestPath, HostPath, Origin, Sourced};
use polder_plan::LENT;
use polder_policy::{
    Access, Bind, CallerTerminal, EnvRules, Fault, Faults, NetworkMode, Overrides, PathPattern, Policy,
};
use polder_run::LeftoverMode;
use polder_secrets::Keeper;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a command may do, as far as it was said. The built-in rest: the directory is writable, there is no network, the
/// home directory is an empty one, and git hooks and config are protected.
#[derive(Clone, Debug)]
pub struct Sandbox {
    directory: PathBuf,
    files: Files,
    trusted: bool,
    environment: BTreeMap<OsString, OsString>,
    overrides: Overrides,
    /// What is left of what the policy gives, where the rest is taken away.
    bare: Option<Vec<Grant>>,
    loan: Loan,
    service: Option<ServiceName>,
    /// What a shell shows in front of each line, if no rule speaks about it.
    prompt: Option<String>,
    /// Nothing will run: planning makes nothing and asks nobody.
    only_looks: bool,
    keeper: Arc<Keeper>,
}

/// The variable that shells take their prompt from.
const PROMPT: &str = "PS1";

/// What a command may read beyond its policy while it is learnt. Paths are absolute and without links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loan {
    /// What it may read.
    pub places: Vec<PathBuf>,
    /// What stays hidden in those; no pattern, so without the letters of one.
    pub hidden: Vec<PathBuf>,
}

impl Loan {
    /// What every run has that is not learnt.
    pub const fn none() -> Self {
        Self { places: Vec::new(), hidden: Vec::new() }
    }
}

impl Sandbox {
    /// A sandbox for commands that work on this directory. Reads no configuration files and takes the environment of
    /// this process as what may be passed on.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            files: Files::None,
            trusted: false,
            environment: std::env::vars_os().collect(),
            overrides: Overrides::none(),
            bare: None,
            loan: Loan::none(),
            service: None,
            prompt: None,
            only_looks: false,
            keeper: Arc::new(Keeper::new()),
        }
    }

    /// Reads the configuration of the system, the user and the project, as the command line does.
    pub fn with_configuration(mut self) -> Self {
        self.files = Files::Found;
        self
    }

    /// The same, and this file on top.
    pub fn with_configuration_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.files = Files::FoundAnd(file.into());
        self
    }

    /// Trusts the project's file for this sandbox, whatever it asks for.
    pub fn trust_project(mut self) -> Self {
        self.trusted = true;
        self
    }

    /// The variables that may be passed on, instead of those of this process.
    pub fn environment(mut self, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.environment = environment.into_iter().collect();
        self
    }

    /// A sandbox of the configuration, by name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.overrides.sandbox = Some(name.into());
        self
    }

    /// This engine and no other.
    pub fn engine(mut self, id: impl Into<String>) -> Self {
        self.overrides.engine = Some(id.into());
        self
    }

    /// `none`, `restricted` or `full`.
    pub fn network(mut self, mode: impl Into<String>) -> Self {
        self.overrides.network = Some(mode.into());
        self
    }

    /// The workspace cannot be written.
    pub fn read_only(mut self) -> Self {
        self.overrides.read_only = Some(true);
        self
    }

    /// Changes go to a layer of their own, and the real tree stays as it is.
    pub fn cow(mut self) -> Self {
        self.overrides.cow = Some(true);
        self
    }

    /// The command gets a private copy of what git knows of the tree, and the real tree stays as it is.
    pub fn worktree(mut self) -> Self {
        self.overrides.worktree = Some(true);
        self
    }

    /// The same, with files that git does not know yet; those that it ignores stay out.
    pub fn untracked(mut self) -> Self {
        self.overrides.untracked = Some(true);
        self
    }

    /// A copy of another repository stands beside that of the tree, in a directory of this name.
    pub fn project(mut self, name: &str, path: &str) -> Self {
        self.overrides.project.push(format!("{name}={path}"));
        self
    }

    /// The same, in a workspace that several runs share by this name.
    pub fn workspace(mut self, name: impl Into<String>) -> Self {
        self.overrides.workspace = Some(name.into());
        self
    }

    /// A new workspace begins with the changes of this one, which stays as it is.
    pub fn from_workspace(mut self, name: impl Into<String>) -> Self {
        self.overrides.from = Some(name.into());
        self
    }

    /// Changes are kept apart from the real tree and thrown away at the end.
    pub fn discard(mut self) -> Self {
        self.overrides.discard = Some(true);
        self
    }

    /// Where the workspace appears inside: an absolute path, or `host`.
    pub fn workdir(mut self, path: impl Into<String>) -> Self {
        self.overrides.workdir = Some(path.into());
        self
    }

    /// What runs is not trusted with caches: they are restored read-only, and none is made.
    pub fn untrusted(mut self) -> Self {
        self.overrides.untrusted = Some(true);
        self
    }

    /// A host path beside the workspace: `HOST[:GUEST][:rw]`.
    pub fn bind(mut self, bind: impl Into<String>) -> Self {
        self.overrides.bind.push(bind.into());
        self
    }

    /// A profile by its name: what a family of tools needs that the user has below the home.
    pub fn profile(mut self, name: impl Into<String>) -> Self {
        self.overrides.profile.push(name.into());
        self
    }

    /// A variable: `NAME` passes it on, `NAME=value` sets it.
    pub fn env(mut self, variable: impl Into<String>) -> Self {
        self.overrides.env.push(variable.into());
        self
    }

    /// One addition to the policy.
    pub fn allow(mut self, grant: Grant) -> Self {
        self.overrides.allow.push(grant);
        self
    }

    /// The memory of all processes together, such as `512M`.
    pub fn memory(mut self, size: impl Into<String>) -> Self {
        self.overrides.memory = Some(size.into());
        self
    }

    /// CPU seconds per second, such as `1.5`.
    pub fn cpus(mut self, cpus: impl Into<String>) -> Self {
        self.overrides.cpus = Some(cpus.into());
        self
    }

    /// Processes and threads together.
    pub fn pids(mut self, pids: impl Into<String>) -> Self {
        self.overrides.pids = Some(pids.into());
        self
    }

    /// The private file systems together, such as `1G`.
    pub fn disk(mut self, size: impl Into<String>) -> Self {
        self.overrides.disk = Some(size.into());
        self
    }

    /// Open files of one process.
    pub fn files(mut self, files: impl Into<String>) -> Self {
        self.overrides.files = Some(files.into());
        self
    }

    /// Bytes on stdout and stderr together, such as `50M`.
    pub fn output(mut self, size: impl Into<String>) -> Self {
        self.overrides.output = Some(size.into());
        self
    }

    /// The time from start to end, such as `10m`.
    pub fn timeout(mut self, span: impl Into<String>) -> Self {
        self.overrides.timeout = Some(span.into());
        self
    }

    /// A guarantee that must be enforced in full.
    pub fn require(mut self, guarantee: Guarantee) -> Self {
        self.overrides.require.push(guarantee.name().to_owned());
        self
    }

    /// A guarantee whose gap is accepted. Weakens the sandbox where the machine cannot keep it.
    pub fn accept(mut self, guarantee: Guarantee) -> Self {
        self.overrides.accept.push(guarantee.name().to_owned());
        self
    }

    /// How closely to watch for what is denied: `off`, `cheap` or `exact`.
    pub fn observe(mut self, mode: impl Into<String>) -> Self {
        self.overrides.observe = Some(mode.into());
        self
    }

    /// Takes away what the policy shows of the host beside the workspace, and its network, whoever said so; these grants
    /// are given instead. What a command asks for then is what it needs.
    pub fn bare(mut self, needed: &[Grant]) -> Self {
        self.overrides.allow.extend_from_slice(needed);
        self.bare = Some(needed.to_vec());
        self
    }

    /// Shows more than the policy, to find out what a command needs: what it uses of that is a violation, as if it had
    /// been denied. Whoever asks for this has seen to it that it is permitted.
    pub fn lend(mut self, loan: Loan) -> Self {
        self.loan = loan;
        self
    }

    /// The command is this service: it has a directory of its own that is there again at its next start.
    pub fn service(mut self, name: ServiceName) -> Self {
        self.service = Some(name);
        self
    }

    /// What a shell shows in front of each line (`PS1`), unless a rule of the policy speaks about that.
    pub fn prompt(mut self, text: impl Into<String>) -> Self {
        self.prompt = Some(text.into());
        self
    }

    /// For looking at plans that will not run: planning makes no directory for a service and asks nobody for a token. A
    /// word stands for what would have been asked for.
    pub fn only_look(mut self) -> Self {
        self.only_looks = true;
        self.keeper = Arc::new(Keeper::silent());
        self
    }

    /// A stream of the caller is a terminal: what programs ask for there passes as well, such as `TERM`.
    pub fn on_terminal(mut self) -> Self {
        self.overrides.terminal = CallerTerminal::Present;
        self
    }

    /// Replaces everything said so far by these flags.
    pub fn overrides(mut self, overrides: Overrides) -> Self {
        self.overrides = overrides;
        self
    }

    /// Decides everything about the steps of the configuration that can be decided before the first one has run, and
    /// starts nothing.
    pub fn plan_steps(&self, asked: &StepsAsked) -> Result<PlannedSteps, Error> {
        let mut said = self.said()?;
        // The streams of a step are pipes, whatever those of the caller are.
        said.layers.overrides.terminal = CallerTerminal::Absent;
        let trust = trust::for_call(&self.environment, self.trusted);
        PlannedSteps::of(&said, &trust, (&self.environment, &self.keeper), asked)
    }

    /// Decides everything about a run of this command, and starts nothing.
    pub fn plan(&self, command: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Planned, Error> {
        let command: Vec<OsString> = command.into_iter().map(Into::into).collect();
        self.plan_by(&self.said()?, &command)
    }

    /// Begins a session: many commands in this sandbox, which share what is costly to make for it, such as a container.
    /// What the configuration says is read here, once: what a command changes in it does not count for the next one.
    pub fn session(&self) -> Result<Session, Error> {
        Ok(Session::new(self.clone(), self.said()?))
    }

    fn set_prompt(&self, rules: &mut EnvRules) {
        let Some(prompt) = &self.prompt else { return };
        let spoken = rules.pass.iter().any(|pattern| pattern.value.glob == PROMPT)
            || polder_plan::filter_environment(rules, &self.environment).contains_key(&OsString::from(PROMPT));
        if !spoken {
            rules.set.insert(0, Sourced::built_in((PROMPT.to_owned(), prompt.clone())));
        }
    }

    fn said(&self) -> Result<Said, Error> {
        let mode = if self.only_looks { LeftoverMode::Look } else { LeftoverMode::SetAside };
        let trust = trust::for_call(&self.environment, self.trusted);
        leftovers::read_settled(&self.directory, &self.files, &self.environment, &self.overrides, mode, &trust)
    }

    pub(crate) fn plan_by(&self, said: &Said, command: &[OsString]) -> Result<Planned, Error> {
        let mut policy = said.policy(&trust::for_call(&self.environment, self.trusted))?;
        if let Some(needed) = &self.bare {
            take_gifts(&mut policy, needed);
        }
        lend(&mut policy, &self.loan)?;
        self.set_prompt(&mut policy.env);
        let policy = said.shielded(policy, &self.environment);
        let scope = &said.scope;
        let (root, start): (&Path, &Path) = (scope.workspace_root.as_path(), scope.working_dir.as_path());
        let policy = match &self.service {
            Some(name) => service::with_state(policy, (name, self.only_looks), root, &self.environment)?,
            None => policy,
        };
        let Placed { policy: placed, secrets } = credentials::placed(&policy, &self.keeper, &self.environment)?;
        let mut prepared = polder_run::prepare(&placed, command, root, start, self.environment.clone())?;
        if let Ok(chosen) = &mut prepared.chosen {
            chosen.notices.clone_from(&said.notices);
        }
        let recorder = said.recorder(&self.environment);
        Ok(Planned::new(prepared, policy, recorder, secrets))
    }
}

/// Adds what is lent, and hides in it what is not.
fn lend(policy: &mut Policy, Loan { places, hidden }: &Loan) -> Result<(), Error> {
    let origin = || Origin::Flag(LENT.to_owned());
    let unspeakable = |path: &Path| {
        let message = format!("`{}` cannot be said in a policy", path.display());
        Error::Configuration(Faults(vec![Fault::new(origin(), message)]))
    };
    for place in places {
        let (Ok(host), Ok(guest)) = (HostPath::new(place), GuestPath::new(place)) else {
            return Err(unspeakable(place));
        };
        policy.binds.push(Sourced::new(Bind { host, guest, access: Access::ReadOnly, optional: false }, origin()));
    }
    for path in hidden {
        let text =
            path.to_str().filter(|text| !text.contains(['*', '?', '[', '{'])).ok_or_else(|| unspeakable(path))?;
        policy.deny_read.push(Sourced::new(PathPattern(text.to_owned()), origin()));
    }
    Ok(())
}

/// Takes away what a policy shows and reaches, apart from what is needed.
fn take_gifts(policy: &mut Policy, needed: &[Grant]) {
    let granted = |origin: &Origin| *origin == Origin::Flag("--allow".to_owned());
    policy.binds.retain(|bind| {
        let path = bind.value.host.as_path().to_owned();
        let grant = match bind.value.access {
            Access::ReadOnly => Grant::FsRead(path),
            Access::ReadWrite => Grant::FsWrite(path),
        };
        granted(&bind.origin) && needed.contains(&grant)
    });
    if !needed.contains(&Grant::NetFull) {
        policy.network.value.mode = NetworkMode::None;
    }
}
