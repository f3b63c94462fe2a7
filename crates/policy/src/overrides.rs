//! The strongest layers: `POLDER_*` variables and the flags of `polder run`.

use crate::fault::{Fault, nearest};
use crate::said::{Said, Scope};
use crate::vocabulary::Vocabulary;
use polder_facts::{Grant, Guarantee, Origin, Sourced};

/// The flags of a run, as they were typed. Parsed with everything else, so that their faults are reported with the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overrides {
    /// `--sandbox NAME`.
    pub sandbox: Option<String>,
    /// `--engine ID`.
    pub engine: Option<String>,
    /// `--network none|restricted|full`.
    pub network: Option<String>,
    /// `--allow GRANT`.
    pub allow: Vec<Grant>,
    /// `--allow-host HOST[:PORT]`.
    pub allow_host: Vec<String>,
    /// `--profile NAME`.
    pub profile: Vec<String>,
    /// `--bind HOST[:GUEST][:rw|:ro]`.
    pub bind: Vec<String>,
    /// `--env K[=V]`.
    pub env: Vec<String>,
    /// `--read-only`.
    pub read_only: Option<bool>,
    /// `--cow`.
    pub cow: Option<bool>,
    /// `--worktree`.
    pub worktree: Option<bool>,
    /// `--untracked`.
    pub untracked: Option<bool>,
    /// `--project NAME=PATH`.
    pub project: Vec<String>,
    /// `--workspace NAME`.
    pub workspace: Option<String>,
    /// `--from NAME`.
    pub from: Option<String>,
    /// `--discard`.
    pub discard: Option<bool>,
    /// `--workdir PATH`.
    pub workdir: Option<String>,
    /// `--observe off|cheap|exact`.
    pub observe: Option<String>,
    /// `--untrusted`.
    pub untrusted: Option<bool>,
    /// `--memory SIZE`.
    pub memory: Option<String>,
    /// `--cpus NUMBER`.
    pub cpus: Option<String>,
    /// `--pids COUNT`.
    pub pids: Option<String>,
    /// `--disk SIZE`.
    pub disk: Option<String>,
    /// `--files COUNT`.
    pub files: Option<String>,
    /// `--output SIZE`.
    pub output: Option<String>,
    /// `--timeout SPAN`.
    pub timeout: Option<String>,
    /// `--require GUARANTEE`.
    pub require: Vec<String>,
    /// `--accept GUARANTEE`.
    pub accept: Vec<String>,
    /// Not typed: what the caller's streams are.
    pub terminal: CallerTerminal,
}

/// Whether one of the caller's three streams is a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerTerminal {
    /// One is: a person sees what the command writes.
    Present,
    /// None is, as in CI: a run has the same variables there wherever it was started.
    Absent,
}

impl Overrides {
    /// No flag was given.
    pub const fn none() -> Self {
        Self {
            sandbox: None,
            engine: None,
            network: None,
            allow: Vec::new(),
            allow_host: Vec::new(),
            profile: Vec::new(),
            bind: Vec::new(),
            env: Vec::new(),
            read_only: None,
            cow: None,
            worktree: None,
            untracked: None,
            project: Vec::new(),
            workspace: None,
            from: None,
            discard: None,
            workdir: None,
            observe: None,
            untrusted: None,
            memory: None,
            cpus: None,
            pids: None,
            disk: None,
            files: None,
            output: None,
            timeout: None,
            require: Vec::new(),
            accept: Vec::new(),
            terminal: CallerTerminal::Absent,
        }
    }
}

fn flag(name: &str) -> Origin {
    Origin::Flag(name.to_owned())
}

/// What the flags say.
pub(crate) fn flags<'a>(overrides: &Overrides, vocabulary: &'a Vocabulary, scope: &'a Scope) -> Said<'a> {
    let mut said = Said::nothing(vocabulary, scope, flag("--sandbox"));
    let Overrides {
        sandbox,
        engine,
        network,
        allow,
        allow_host,
        profile,
        bind,
        env,
        read_only,
        cow,
        worktree,
        untracked,
        project,
        workspace,
        from,
        discard,
        workdir,
        observe,
        untrusted,
        memory,
        cpus,
        pids,
        disk,
        files,
        output,
        timeout,
        require,
        accept,
        // Read where the patterns for variables are put together.
        terminal: _,
    } = overrides;
    sandbox.iter().for_each(|name| said.sandbox(name, &flag("--sandbox")));
    engine.iter().for_each(|name| said.engine(name, &flag("--engine")));
    network.iter().for_each(|word| said.network(word, &flag("--network")));
    allow_host.iter().for_each(|peer| said.peer(peer, &flag("--allow-host")));
    profile.iter().for_each(|name| said.profile(name, &flag("--profile")));
    bind.iter().for_each(|text| said.bind(text, &flag("--bind")));
    env.iter().for_each(|text| said.env(text, &flag("--env")));
    read_only.iter().for_each(|value| said.read_only(*value, &flag("--read-only")));
    if *cow == Some(true) {
        said.cow = Some(Sourced::new((), flag("--cow")));
    }
    if *worktree == Some(true) {
        said.worktree = Some(Sourced::new((), flag("--worktree")));
    }
    if *untracked == Some(true) {
        said.untracked = Some(Sourced::new((), flag("--untracked")));
    }
    project.iter().for_each(|text| said.project(text, &flag("--project")));
    said.workspace_name = workspace.as_ref().and_then(|name| said.keep(crate::rules::name(name), &flag("--workspace")));
    said.workspace_from = from.as_ref().and_then(|name| said.keep(crate::rules::name(name), &flag("--from")));
    if *discard == Some(true) {
        said.discard = Some(Sourced::new((), flag("--discard")));
    }
    workdir.iter().for_each(|path| said.workdir(path, &flag("--workdir")));
    said.definition.observe = observe.as_ref().and_then(|word| said.keep(word.parse(), &flag("--observe")));
    if let Some(text) = memory {
        said.definition.limits.memory = said.unit(text, &flag("--memory"));
    }
    if let Some(text) = cpus {
        said.definition.limits.cpus = said.cpus(text, &flag("--cpus"));
    }
    if let Some(text) = pids {
        said.definition.limits.pids = said.count(text, &flag("--pids"));
    }
    if let Some(text) = disk {
        said.definition.limits.disk = said.unit(text, &flag("--disk"));
    }
    if let Some(text) = files {
        said.definition.limits.files = said.count(text, &flag("--files"));
    }
    if let Some(text) = output {
        said.definition.limits.output = said.unit(text, &flag("--output"));
    }
    if let Some(text) = timeout {
        said.definition.limits.timeout = said.unit(text, &flag("--timeout"));
    }
    // Last: a grant is what somebody adds to a command line that was not enough.
    allow.iter().for_each(|grant| said.grant(grant, &flag("--allow")));
    if *untrusted == Some(true) {
        said.untrusted = Some(Sourced::new((), flag("--untrusted")));
    }
    said.definition.require = guarantees(&mut said, require, &flag("--require"));
    let accept = guarantees(&mut said, accept, &flag("--accept"));
    if !accept.is_empty() {
        said.definition.accept = Some(Sourced::new(accept, flag("--accept")));
    }
    said
}

fn guarantees(said: &mut Said<'_>, names: &[String], origin: &Origin) -> Vec<Sourced<Guarantee>> {
    let parse = |name: &String| name.parse::<Guarantee>().map_err(|error| error.to_string());
    names.iter().filter_map(|name| said.keep(parse(name), origin)).collect()
}

/// Variables that are policy.
const POLICY_VARIABLES: [&str; 9] = [
    "POLDER_SANDBOX",
    "POLDER_ENGINE",
    "POLDER_NETWORK",
    "POLDER_MEMORY",
    "POLDER_CPUS",
    "POLDER_PIDS",
    "POLDER_TIMEOUT",
    "POLDER_READ_ONLY",
    "POLDER_UNTRUSTED",
];
/// Variables that other parts of polder read.
const OTHER_VARIABLES: [&str; 3] = ["POLDER_TRUST_PROJECT", "POLDER_LOG", "POLDER_METRICS_FILE"];

/// What the `POLDER_*` variables say; others are nobody's business here.
pub(crate) fn environment<'a>(
    variables: &[(String, String)],
    vocabulary: &'a Vocabulary,
    scope: &'a Scope,
) -> Said<'a> {
    let mut said = Said::nothing(vocabulary, scope, Origin::Environment("POLDER_SANDBOX".to_owned()));
    let mut ours: Vec<_> = variables.iter().filter(|(name, _)| name.starts_with("POLDER_")).collect();
    ours.sort();
    for (name, value) in ours {
        let origin = Origin::Environment(name.clone());
        match name.as_str() {
            name if OTHER_VARIABLES.contains(&name) || name.starts_with("POLDER_TEST_") => {}
            "POLDER_SANDBOX" => said.sandbox(value, &origin),
            "POLDER_ENGINE" => said.engine(value, &origin),
            "POLDER_NETWORK" => said.network(value, &origin),
            "POLDER_MEMORY" => said.definition.limits.memory = said.unit(value, &origin),
            "POLDER_CPUS" => said.definition.limits.cpus = said.cpus(value, &origin),
            "POLDER_PIDS" => said.definition.limits.pids = said.count(value, &origin),
            "POLDER_TIMEOUT" => said.definition.limits.timeout = said.unit(value, &origin),
            "POLDER_READ_ONLY" => match value.as_str() {
                "1" | "true" => said.read_only(true, &origin),
                "0" | "false" => said.read_only(false, &origin),
                _ => said.fault(&origin, format!("`{value}` is not true or false")),
            },
            "POLDER_UNTRUSTED" => match value.as_str() {
                "1" | "true" => said.untrusted = Some(Sourced::new((), origin)),
                "0" | "false" => {}
                _ => said.fault(&origin, format!("`{value}` is not true or false")),
            },
            // A misspelt variable would otherwise be a rule that silently does not hold.
            _ => {
                let hint = nearest(name, POLICY_VARIABLES.into_iter().chain(OTHER_VARIABLES));
                said.faults.push(Fault::new(origin, "unknown variable").maybe_hint(hint));
            }
        }
    }
    said
}

#[cfg(test)]
mod tests;
