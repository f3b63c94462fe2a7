//! A policy while the layers speak: how one layer changes what the weaker ones said.

use crate::builtin::built_in;
use crate::document::{Definition, Document, Level};
use crate::fault::Fault;
use crate::model::{EngineChoice, EnvPattern, Network, NetworkMode, Policy, Workspace, WorkspaceMode};
use crate::said::Said;
use polder_facts::{Origin, Sourced};

/// A policy in the making.
pub(crate) struct Draft {
    pub(crate) policy: Policy,
    /// The sandbox's own patterns, which come after the defaults whoever replaced those.
    pub(crate) env_pass: Vec<Sourced<EnvPattern>>,
    /// The network is what a file's dialect implies; nobody said it.
    pub(crate) network_implied: bool,
    /// The system refused runs without a sandbox, which no user can take back.
    pub(crate) unsandboxed_refused: bool,
    /// Tables for engines, with the engine that the same layer names.
    pub(crate) options: Vec<(Option<String>, Sourced<serde_json::Value>)>,
}

impl Draft {
    pub(crate) fn new(name: Option<String>) -> Self {
        let policy = Policy { name, ..built_in() };
        Self { policy, env_pass: Vec::new(), network_implied: false, unsandboxed_refused: false, options: Vec::new() }
    }

    pub(crate) fn document(&mut self, document: &Document) {
        if let Some(defaults) = &document.env_defaults {
            self.policy.env.pass.clone_from(&defaults.value);
        }
        match &document.allow_unsandboxed {
            Some(Sourced { value: false, .. }) => {
                self.unsandboxed_refused |= document.level == Level::System;
                self.policy.allow_unsandboxed = None;
            }
            Some(Sourced { value: true, origin }) if !self.unsandboxed_refused => {
                self.policy.allow_unsandboxed = Some(Sourced::new((), origin.clone()));
            }
            Some(_) | None => {}
        }
        self.profiles(&document.profiles);
        let own = document.sandboxes.iter().find(|(name, _)| Some(name) == self.policy.name.as_ref());
        if let Some((_, definition)) = own {
            self.define(definition);
        }
    }

    /// Adds profiles, each once, however often it is named.
    fn profiles<'a>(&mut self, asked: impl IntoIterator<Item = &'a Sourced<String>>) {
        for name in asked {
            if !self.policy.profiles.iter().any(|known| known.value == name.value) {
                self.policy.profiles.push(name.clone());
            }
        }
    }

    pub(crate) fn define(&mut self, definition: &Definition) {
        let Definition {
            origin: _,
            engine,
            network,
            network_implied,
            access,
            workdir,
            workdir_implied,
            workspace,
            observe,
            scope,
            profiles,
            path,
            git_identity,
            env_pass,
            env_set,
            binds,
            limits,
            protect,
            deny_read,
            unprotect,
            credentials,
            cache,
            image,
            visor_path,
            require,
            accept,
            options,
        } = definition;
        self.profiles(profiles.iter().flat_map(|list| &list.value));
        let policy = &mut self.policy;
        replace(&mut policy.engine, engine);
        replace(&mut policy.network, network);
        self.network_implied &= network.is_none();
        if let (Some(_), Origin::BuiltIn) = (network_implied, &policy.network.origin) {
            replace(&mut policy.network, network_implied);
            self.network_implied = true;
        }
        replace(&mut policy.access, access);
        replace(&mut policy.workdir, workdir);
        if policy.workdir.origin == Origin::BuiltIn {
            replace(&mut policy.workdir, workdir_implied);
        }
        replace(&mut policy.workspace, workspace);
        replace(&mut policy.observe, observe);
        replace(&mut policy.scope, scope);
        replace(&mut policy.git_identity, git_identity);
        self.env_pass.extend(env_pass.iter().flat_map(|list| &list.value).cloned());
        policy.env.set.extend_from_slice(env_set);
        policy.path.extend_from_slice(path);
        policy.binds.extend(binds.iter().flat_map(|list| &list.value).cloned());
        policy.limits.replace(limits);
        policy.protect.extend_from_slice(protect);
        policy.deny_read.extend_from_slice(deny_read);
        policy.unprotect.extend_from_slice(unprotect);
        policy.credentials.extend(credentials.iter().flat_map(|list| &list.value).cloned());
        policy.cache = cache.clone().or_else(|| policy.cache.take());
        policy.image = image.clone().or_else(|| policy.image.take());
        policy.visor_path = visor_path.clone().or_else(|| policy.visor_path.take());
        policy.require.extend_from_slice(require);
        policy.accept.extend(accept.iter().flat_map(|list| &list.value).cloned());
        if let Some(options) = options {
            let named = engine.as_ref().and_then(|engine| match &engine.value {
                EngineChoice::Named(id) => Some(id.clone()),
                EngineChoice::Auto => None,
            });
            self.options.push((named, options.clone()));
        }
    }

    /// Says something of a workspace that is not the real tree: that one needs no name to be shared and keeps everything.
    fn apart<T>(&mut self, said: &Sourced<T>, say: impl FnOnce(&mut Workspace)) {
        let Sourced { value, origin } = &mut self.policy.workspace;
        if value.mode == WorkspaceMode::Direct {
            value.mode = WorkspaceMode::Cow;
        }
        say(value);
        *origin = said.origin.clone();
    }

    /// What variables or flags say, with the parts that build on what is there.
    pub(crate) fn said(&mut self, said: &Said<'_>) -> Option<Fault> {
        self.define(&said.definition);
        if let Some(untrusted) = &said.untrusted {
            self.policy.untrusted = Some(untrusted.clone());
        }
        if let Some(mode) = &said.network {
            // A list belongs to `restricted`; it waits there, whatever the mode is now.
            let network = Network { mode: mode.value, ..self.policy.network.value.clone() };
            self.policy.network = Sourced::new(network, mode.origin.clone());
            self.network_implied = false;
        }
        if let Some(cow) = &said.cow {
            self.apart(cow, |workspace| {
                workspace.mode = WorkspaceMode::Cow;
                workspace.untracked = false;
                workspace.projects.clear();
            });
        }
        if let Some(worktree) = &said.worktree {
            self.apart(worktree, |workspace| workspace.mode = WorkspaceMode::Worktree);
        }
        if let Some(untracked) = &said.untracked {
            self.apart(untracked, |workspace| {
                workspace.mode = WorkspaceMode::Worktree;
                workspace.untracked = true;
            });
        }
        for project in &said.projects {
            let Sourced { value, origin } = &mut self.policy.workspace;
            value.mode = WorkspaceMode::Worktree;
            // The later word on a name counts.
            value.projects.retain(|earlier| earlier.name != project.name);
            value.projects.push(project.clone());
            *origin = project.origin.clone();
        }
        if let Some(name) = &said.workspace_name {
            self.apart(name, |workspace| workspace.name = Some(name.value.clone()));
        }
        if let Some(from) = &said.workspace_from {
            self.apart(from, |workspace| workspace.from = Some(from.value.clone()));
        }
        if let Some(discard) = &said.discard {
            self.apart(discard, |workspace| workspace.keep = false);
        }
        let first = said.peers.first()?;
        if let Some(mode) = said.network.as_ref().filter(|mode| mode.value != NetworkMode::Restricted) {
            let message = format!("a host is allowed, and `{}` says `{}`", mode.origin, mode.value.name());
            return Some(Fault::new(first.origin.clone(), message).hint("leave one out"));
        }
        let network = &mut self.policy.network;
        network.value.mode = NetworkMode::Restricted;
        network.value.allow.extend_from_slice(&said.peers);
        network.origin = first.origin.clone();
        self.network_implied = false;
        None
    }
}

fn replace<T: Clone>(old: &mut Sourced<T>, new: &Option<Sourced<T>>) {
    if let Some(new) = new {
        old.clone_from(new);
    }
}
