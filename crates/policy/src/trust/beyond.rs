//! The difference between two policies, in the direction that matters: everything that one has beyond
//! the other.
//!
//! Every field of [`Policy`] is named here, so that a new one does not build before it is decided. The
//! decision per key is in the table of keys (`shape`), and a test holds the two together.

use crate::builtin::{CACHE_SCOPES, CACHE_TTL, DISK_SMALL, FILES_DEFAULT};
use crate::enforce::rank;
use crate::model::{
    Access, EngineChoice, EnvPattern, EnvRules, GitIdentityUse, Image, Limits, Network, NetworkMode, Policy, Via,
    Workspace, WorkspaceMode,
};
use crate::trust::Ask;
use crate::vocabulary::Vocabulary;
use polder_facts::{ByteSize, Origin, Sourced};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;

/// A policy with every layer, and with the user's own layers alone.
pub(crate) struct Judged<'a> {
    pub(crate) full: &'a Policy,
    pub(crate) own: &'a Policy,
    pub(crate) vocabulary: &'a Vocabulary,
    /// Whether the network is the one that the file's dialect implies.
    pub(crate) network_implied: bool,
    /// The project's file and those that it extends.
    pub(crate) files: BTreeSet<&'a Path>,
    /// The line of the project that chose the sandbox: it asks for whatever a file of the user's own
    /// says about that sandbox, or says about another one.
    pub(crate) chosen: Origin,
}

/// Everything that the full policy has beyond the user's own, in the order of the lines.
pub(crate) fn beyond(judged: &Judged<'_>) -> Vec<Ask> {
    let mut asks = Asks { judged, list: Vec::new() };
    let Policy {
        name: _,
        engine,
        network,
        access,
        // Places and lifetimes inside the sandbox.
        workdir: _,
        scope: _,
        visor_path: _,
        path: _,
        workspace,
        observe,
        profiles,
        git_identity,
        env,
        binds,
        limits,
        protect,
        deny_read,
        // Said by flags alone, so both policies have the same.
        unprotect: _,
        untrusted: _,
        service: _,
        beside: _,
        credentials,
        cache,
        image,
        require,
        accept,
        // Permitted by files of the system and of the user alone.
        allow_unsandboxed: _,
        engine_options,
    } = judged.full;
    let own = judged.own;
    asks.engine(engine);
    asks.network(network);
    if access.value == Access::ReadWrite && own.access.value == Access::ReadOnly {
        asks.ask(&access.origin, "to write the workspace", None);
    }
    asks.workspace(workspace);
    if observe.value < own.observe.value {
        let word = observe.value.name();
        asks.ask(&observe.origin, format!("to be watched less (`observe: {word}`)"), flag("observe", word));
    }
    if git_identity.value == GitIdentityUse::Given && own.git_identity.value == GitIdentityUse::Withheld {
        asks.ask(&git_identity.origin, "your name and address, for git", None);
    }
    // A profile is asked for as a whole; its own lines are not asked for again.
    let new = missing(profiles, &own.profiles);
    let of_new = |origin: &Origin| matches!(origin, Origin::Profile { name, .. } if new.iter().any(|profile| profile.value == *name));
    for profile in &new {
        let of_it = |origin: &Origin| matches!(origin, Origin::Profile { name, .. } if *name == profile.value);
        let reads = binds.iter().filter(|bind| of_it(&bind.origin));
        let reads: Vec<_> = reads.map(|bind| format!("`{}`", bind.value.host)).collect();
        let what = format!("the profile `{}`, to read {}", profile.value, reads.join(", "));
        asks.ask(&profile.origin, what, flag("profile", &profile.value));
    }
    asks.variables(env, &of_new);
    // Also a path inside the repository: it can be a symlink to anywhere, and nothing here looks at the
    // file system.
    for bind in missing(binds, &own.binds).into_iter().filter(|bind| !of_new(&bind.origin)) {
        let writes = bind.value.access == Access::ReadWrite;
        let (verb, end) = if writes { ("write", ":rw") } else { ("read", "") };
        let optional = if bind.value.optional { ":optional" } else { "" };
        let host = &bind.value.host;
        let given = flag("bind", format!("{host}:{}{end}{optional}", bind.value.guest));
        asks.ask(&bind.origin, format!("to {verb} `{host}`"), given);
    }
    asks.limits(limits);
    for (key, kept, all) in [("protect", protect, &own.protect), ("deny_read", deny_read, &own.deny_read)] {
        for rule in missing(all, kept) {
            asks.ask(&rule.origin, format!("to drop your rule `{key}: {}`", rule.value.0), None);
        }
    }
    for credential in missing(credentials, &own.credentials) {
        let hosts = credential.value.hosts.join(", ");
        let how = match credential.value.via {
            Via::Broker => "",
            Via::Environment => ", in the command's own variables",
        };
        let what = format!("the credential `{}` for {hosts}{how}", credential.value.source);
        asks.ask(&credential.origin, what, None);
    }
    if let Some(Sourced { value: cache, origin }) = cache {
        let (ttl, scopes) = own.cache.as_ref().map_or((CACHE_TTL, CACHE_SCOPES), |own| {
            (own.value.ttl.max(CACHE_TTL), own.value.max_scopes.max(CACHE_SCOPES))
        });
        if cache.ttl > ttl {
            asks.ask(origin, format!("to keep caches for {}", cache.ttl), None);
        }
        if cache.max_scopes > scopes {
            asks.ask(origin, format!("to keep {} caches", cache.max_scopes), None);
        }
    }
    // A compose file starts programs beside the command.
    if let Some(Sourced { value: Image::Compose { file, .. }, origin }) = image
        && own.image.as_ref().map(|image| &image.value) != image.as_ref().map(|image| &image.value)
    {
        asks.ask(origin, format!("to start what the compose file `{file}` says"), None);
    }
    for guarantee in missing(&own.require, require) {
        let what = format!("to drop your rule `require: {}`", guarantee.value);
        asks.ask(&guarantee.origin, what, flag("require", guarantee.value));
    }
    for guarantee in missing(accept, &own.accept) {
        let given = flag("accept", guarantee.value);
        asks.ask(&guarantee.origin, format!("to accept gaps in `{}`", guarantee.value), given);
    }
    for (engine, options) in engine_options {
        if own.engine_options.get(engine).is_none_or(|own| own.value != options.value) {
            asks.ask(&options.origin, "to set the engine's own options", None);
        }
    }
    asks.list.sort();
    asks.list.dedup();
    asks.list
}

struct Asks<'a> {
    judged: &'a Judged<'a>,
    list: Vec<Ask>,
}

impl Asks<'_> {
    fn ask(&mut self, origin: &Origin, what: impl Into<String>, flag: Option<String>) {
        let Judged { files, chosen, .. } = self.judged;
        let theirs = matches!(origin, Origin::File { path, .. } if files.contains(path.as_path()));
        let origin = if theirs { origin } else { chosen };
        self.list.push(Ask { origin: origin.clone(), what: what.into(), flag });
    }

    fn engine(&mut self, engine: &Sourced<EngineChoice>) {
        let Judged { own, vocabulary, .. } = self.judged;
        if vocabulary.strength(&engine.value) >= vocabulary.strength(&own.engine.value) {
            return;
        }
        let id = match &engine.value {
            EngineChoice::Auto => "auto",
            EngineChoice::Named(id) => id,
        };
        let what = match vocabulary.engine(&engine.value) {
            Some(named) if named.unsandboxed => "to run without a sandbox".to_owned(),
            _ => format!("a weaker engine (`{id}`)"),
        };
        self.ask(&engine.origin, what, flag("engine", id));
    }

    fn network(&mut self, network: &Sourced<Network>) {
        let own = &self.judged.own.network.value;
        let Network { mode, allow, deny } = &network.value;
        if rank(*mode) > rank(own.mode) && *mode == NetworkMode::Full {
            let why = if self.judged.network_implied { ", which an absent `network` means in this file" } else { "" };
            self.ask(&network.origin, format!("the host's network{why}"), flag("network", "full"));
            return;
        }
        if *mode != NetworkMode::Restricted {
            return;
        }
        // Also with an empty list: the broker answers names.
        if rank(*mode) > rank(own.mode) {
            let peers: Vec<_> = allow.iter().map(|peer| format!("`{}`", peer.value)).collect();
            let peers = if peers.is_empty() { String::new() } else { format!(" to {}", peers.join(", ")) };
            self.ask(&network.origin, format!("the network{peers}"), flag("network", "restricted"));
        } else if own.mode == NetworkMode::Restricted {
            for peer in missing(allow, &own.allow) {
                let what = format!("the network to `{}`", peer.value);
                self.ask(&peer.origin, what, flag("allow-host", &peer.value));
            }
            for peer in missing(&own.deny, deny) {
                self.ask(&network.origin, format!("to reach `{}`, which you deny", peer.value), None);
            }
        }
    }

    fn workspace(&mut self, workspace: &Sourced<Workspace>) {
        let own = &self.judged.own.workspace.value;
        if workspace.value.mode == WorkspaceMode::Direct && own.mode != WorkspaceMode::Direct {
            let what = "to change the tree itself, without a review";
            self.ask(&workspace.origin, what, None);
        }
        // A copy of a repository has all that was ever committed to it.
        for project in &workspace.value.projects {
            if !own.projects.iter().any(|own| own.host == project.host) {
                let given = flag("project", format!("{}={}", project.name, project.host));
                let what = format!("to copy the repository `{}`", project.host);
                self.ask(&project.origin, what, given);
            }
        }
    }

    /// `asked` are rules that were asked for with others.
    fn variables(&mut self, env: &EnvRules, asked: &dyn Fn(&Origin) -> bool) {
        let EnvRules { pass, set: _ } = env;
        let own = &self.judged.own.env.pass;
        let given = pass.iter().filter(|pattern| !pattern.value.negated && !asked(&pattern.origin));
        let given: Vec<_> = given.cloned().collect();
        for pattern in missing(&given, own) {
            let EnvPattern { glob, negated: _ } = &pattern.value;
            let exact = Some(format!("--env {glob}")).filter(|_| !glob.contains('*'));
            self.ask(&pattern.origin, format!("variables that match `{glob}`"), exact);
        }
        let taken: Vec<_> = own.iter().filter(|pattern| pattern.value.negated).cloned().collect();
        for pattern in missing(&taken, pass) {
            let what = format!("to drop your rule `env_passthrough: !{}`", pattern.value.glob);
            self.ask(&pattern.origin, what, None);
        }
    }

    fn limits(&mut self, limits: &Limits) {
        let Limits { memory, cpus, pids, disk, files, output, timeout } = limits;
        let own = &self.judged.own.limits;
        self.limit("memory", memory, &own.memory, None);
        self.limit("cpus", cpus, &own.cpus, None);
        self.limit("pids", pids, &own.pids, None);
        self.limit::<ByteSize>("disk", disk, &own.disk, Some(DISK_SMALL));
        self.limit("files", files, &own.files, Some(FILES_DEFAULT));
        self.limit("output", output, &own.output, None);
        self.limit("timeout", timeout, &own.timeout, None);
    }

    /// `absent` is the bound that holds where no layer names one.
    fn limit<T: Copy + PartialOrd + Display>(
        &mut self,
        key: &str,
        full: &Option<Sourced<T>>,
        own: &Option<Sourced<T>>,
        absent: Option<T>,
    ) {
        let most = own.as_ref().map(|own| own.value).or(absent);
        match (full, most, own) {
            (Some(full), Some(most), _) if full.value > most => {
                let what = format!("`limits.{key}` of {} instead of {most}", full.value);
                self.ask(&full.origin, what, flag(key, full.value));
            }
            (None, _, Some(own)) => {
                self.ask(&own.origin, format!("to drop your `limits.{key}` of {}", own.value), None);
            }
            _ => {}
        }
    }
}

/// The entries of one list that the other one does not have.
fn missing<'a, T: PartialEq>(list: &'a [Sourced<T>], other: &[Sourced<T>]) -> Vec<&'a Sourced<T>> {
    // Most entries stand at the same place of both lists, so this is linear but for hostile files, and
    // those are bounded (`LIST_ITEMS_MAX`).
    let known = |at: usize, entry: &Sourced<T>| {
        other.get(at).is_some_and(|same| same.value == entry.value)
            || other.iter().any(|known| known.value == entry.value)
    };
    list.iter().enumerate().filter(|(at, entry)| !known(*at, entry)).map(|(_, entry)| entry).collect()
}

fn flag(name: &str, value: impl Display) -> Option<String> {
    Some(format!("--{name} {value}"))
}
