//! `enforce`: what the system says and nobody below can widen.
//!
//! Every key has one of four meanings. A ceiling (network, limits, read-only) lowers what nobody asked for and refuses
//! what somebody did. A fixed value (engine, image, workdir, …) is set, or refused where somebody set another. A floor
//! (protect, deny_read, require) is added and cannot be lifted. A list of gifts (binds, variables, credentials, accept)
//! is all there may be.

use crate::document::Definition;
use crate::fault::Fault;
use crate::model::{
    Access, Bind, Credential, EngineChoice, EnvPattern, Limits, Network, NetworkMode, PathPattern, Policy, Via,
};
use crate::overlap;
use crate::said::Scope;
use polder_facts::{Origin, Sourced};

/// Holds a policy to what is enforced, and reports every attempt at more.
pub(crate) struct Hold<'a> {
    pub(crate) policy: &'a mut Policy,
    pub(crate) scope: &'a Scope,
    /// Places whose values nobody below asked for: they are lowered without a word.
    pub(crate) unasked: Vec<Origin>,
    pub(crate) faults: Vec<Fault>,
}

impl Hold<'_> {
    pub(crate) fn to(&mut self, limit: &Definition) {
        let Definition {
            origin: _,
            engine,
            network,
            // A system file is polder's own: it implies nothing and lifts nothing.
            network_implied: _,
            workdir_implied: _,
            unprotect: _,
            access,
            workdir,
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
            credentials,
            cache,
            image,
            visor_path,
            require,
            accept,
            options,
        } = limit;
        self.fixed("engine", engine, |policy| Some(&mut policy.engine));
        self.fixed("workdir", workdir, |policy| Some(&mut policy.workdir));
        self.fixed("observe", observe, |policy| Some(&mut policy.observe));
        self.fixed("scope", scope, |policy| Some(&mut policy.scope));
        self.fixed("git_identity", git_identity, |policy| Some(&mut policy.git_identity));
        self.fixed("workspace", workspace, |policy| Some(&mut policy.workspace));
        self.optional("image", image, |policy| &mut policy.image);
        self.optional("cache", cache, |policy| &mut policy.cache);
        self.optional("visor_path", visor_path, |policy| &mut policy.visor_path);
        if let Some(access) = access.as_ref().filter(|access| access.value == Access::ReadOnly) {
            self.fixed("read_only", &Some(access.clone()), |policy| Some(&mut policy.access));
        }
        if let Some(network) = network {
            self.network(network);
        }
        self.limits(limits);
        self.protections(protect, deny_read);
        for guarantee in require {
            if !self.policy.require.iter().any(|known| known.value == guarantee.value) {
                self.policy.require.push(guarantee.clone());
            }
        }
        self.gifts(profiles, |policy| &policy.profiles, PartialEq::eq, |name| format!("profiles: {name}"));
        self.policy.path.extend_from_slice(path);
        self.gifts(binds, |policy| &policy.binds, covers_bind, |bind| format!("bind_paths: {}", bind.host));
        self.gifts(
            credentials,
            |policy| &policy.credentials,
            covers_credential,
            |c| format!("credentials: {}", c.name),
        );
        self.gifts(accept, |policy| &policy.accept, PartialEq::eq, |guarantee| format!("accept: {guarantee}"));
        if let Some(patterns) = env_pass {
            self.variables(patterns);
        }
        self.values(env_set);
        if let Some(options) = options {
            self.options(options);
        }
    }

    fn options(&mut self, options: &Sourced<serde_json::Value>) {
        let EngineChoice::Named(engine) = self.policy.engine.value.clone() else {
            let message = "`options` needs an `engine` that is not `auto`";
            return self.faults.push(Fault::new(options.origin.clone(), message));
        };
        let theirs = self.policy.engine_options.get(&engine);
        if let Some(theirs) = theirs.filter(|theirs| theirs.value != options.value) {
            self.faults.push(refusal("options", &theirs.origin, &options.origin));
        }
        self.policy.engine_options.insert(engine, options.clone());
    }

    fn asked(&self, origin: &Origin) -> bool {
        !matches!(origin, Origin::BuiltIn | Origin::Terminal) && !self.unasked.contains(origin)
    }

    fn set<T: Clone>(&mut self, key: &str, place: impl Fn(&mut Policy) -> Option<&mut Sourced<T>>, limit: &Sourced<T>) {
        let Some(origin) = place(self.policy).map(|value| value.origin.clone()) else { return };
        if self.asked(&origin) {
            self.faults.push(refusal(key, &origin, &limit.origin));
        }
        self.unasked.push(limit.origin.clone());
        if let Some(value) = place(self.policy) {
            value.clone_from(limit);
        }
    }

    fn fixed<T: Clone + PartialEq>(
        &mut self,
        key: &str,
        limit: &Option<Sourced<T>>,
        place: impl Fn(&mut Policy) -> Option<&mut Sourced<T>>,
    ) {
        let Some(limit) = limit else { return };
        if place(self.policy).is_some_and(|value| value.value != limit.value) {
            self.set(key, place, limit);
        }
    }

    fn optional<T: Clone + PartialEq>(
        &mut self,
        key: &str,
        limit: &Option<Sourced<T>>,
        place: impl Fn(&mut Policy) -> &mut Option<Sourced<T>>,
    ) {
        match (limit, place(self.policy)) {
            (None, _) => {}
            (Some(limit), empty @ None) => {
                *empty = Some(limit.clone());
                self.unasked.push(limit.origin.clone());
            }
            (Some(_), Some(_)) => self.fixed(key, limit, |policy| place(policy).as_mut()),
        }
    }

    fn network(&mut self, limit: &Sourced<Network>) {
        let theirs = &self.policy.network;
        let more = rank(theirs.value.mode) > rank(limit.value.mode);
        let foreign = theirs.value.mode == NetworkMode::Restricted
            && limit.value.mode == NetworkMode::Restricted
            && theirs.value.allow.iter().any(|peer| !limit.value.allow.iter().any(|mine| mine.value == peer.value));
        if more || foreign {
            self.set("network", |policy| Some(&mut policy.network), limit);
        }
        if self.policy.network.value.mode != NetworkMode::Restricted {
            return;
        }
        for peer in &limit.value.deny {
            let deny = &mut self.policy.network.value.deny;
            if !deny.iter().any(|known| known.value == peer.value) {
                deny.push(peer.clone());
            }
        }
    }

    fn limits(&mut self, limits: &Limits) {
        let Limits { memory, cpus, pids, disk, files, output, timeout } = limits;
        self.at_most("memory", memory, |limits| &mut limits.memory);
        self.at_most("cpus", cpus, |limits| &mut limits.cpus);
        self.at_most("pids", pids, |limits| &mut limits.pids);
        self.at_most("disk", disk, |limits| &mut limits.disk);
        self.at_most("files", files, |limits| &mut limits.files);
        self.at_most("output", output, |limits| &mut limits.output);
        self.at_most("timeout", timeout, |limits| &mut limits.timeout);
    }

    fn at_most<T: Clone + PartialOrd>(
        &mut self,
        key: &str,
        limit: &Option<Sourced<T>>,
        place: impl Fn(&mut Limits) -> &mut Option<Sourced<T>>,
    ) {
        let Some(limit) = limit else { return };
        match place(&mut self.policy.limits) {
            Some(theirs) if theirs.value <= limit.value => {}
            Some(_) => self.set(key, |policy| place(&mut policy.limits).as_mut(), limit),
            empty @ None => {
                *empty = Some(limit.clone());
                self.unasked.push(limit.origin.clone());
            }
        }
    }

    fn protections(&mut self, protect: &[Sourced<PathPattern>], deny_read: &[Sourced<PathPattern>]) {
        let root = &self.scope.workspace_root;
        for rule in protect.iter().chain(deny_read) {
            for lifted in &self.policy.unprotect {
                if overlap::patterns(&rule.value, &lifted.value, root) {
                    self.faults.push(refusal(&rule.value.0, &lifted.origin, &rule.origin));
                }
            }
        }
        for rule in deny_read {
            for bind in &self.policy.binds {
                let bound = PathPattern(bind.value.host.to_string());
                if overlap::is_within(&bound, &rule.value, root) {
                    self.faults.push(refusal(&rule.value.0, &bind.origin, &rule.origin));
                }
            }
        }
        self.policy.protect.extend_from_slice(protect);
        self.policy.deny_read.extend_from_slice(deny_read);
    }

    /// A list that is all there may be.
    fn gifts<T>(
        &mut self,
        limit: &Option<Sourced<Vec<Sourced<T>>>>,
        place: impl Fn(&Policy) -> &Vec<Sourced<T>>,
        covers: impl Fn(&T, &T) -> bool,
        word: impl Fn(&T) -> String,
    ) {
        let Some(limit) = limit else { return };
        let beyond = place(self.policy)
            .iter()
            .filter(|theirs| !limit.value.iter().any(|mine| covers(&mine.value, &theirs.value)))
            .map(|theirs| refusal(&word(&theirs.value), &theirs.origin, &limit.origin));
        self.faults.extend(beyond);
    }

    /// Patterns for variables: those of the list, and names that they match. Built-in ones go without a word.
    fn variables(&mut self, limit: &Sourced<Vec<Sourced<EnvPattern>>>) {
        let covered = |pattern: &EnvPattern| {
            let mine = |mine: &Sourced<EnvPattern>| {
                mine.value.glob == pattern.glob
                    || (!pattern.glob.contains('*') && overlap::glob(&mine.value.glob, &pattern.glob))
            };
            let (taken, given): (Vec<_>, Vec<_>) = limit.value.iter().partition(|mine| mine.value.negated);
            pattern.negated || (given.into_iter().any(mine) && !taken.into_iter().any(mine))
        };
        let pass = std::mem::take(&mut self.policy.env.pass);
        let (kept, beyond): (Vec<_>, Vec<_>) = pass.into_iter().partition(|pattern| covered(&pattern.value));
        let asked: Vec<_> = beyond.into_iter().filter(|pattern| self.asked(&pattern.origin)).collect();
        self.faults.extend(asked.iter().map(|pattern| {
            let word = format!("env_passthrough: {}", pattern.value.glob);
            refusal(&word, &pattern.origin, &limit.origin)
        }));
        self.policy.env.pass = kept;
        // What the list takes away stays away: the last word is its own.
        self.policy.env.pass.extend(limit.value.iter().filter(|pattern| pattern.value.negated).cloned());
    }

    fn values(&mut self, set: &[Sourced<(String, String)>]) {
        for pair in set {
            let other =
                |theirs: &&Sourced<(String, String)>| theirs.value.0 == pair.value.0 && theirs.value.1 != pair.value.1;
            let beyond = self.policy.env.set.iter().filter(other).map(|theirs| &theirs.origin);
            let beyond: Vec<_> = beyond.filter(|origin| self.asked(origin)).cloned().collect();
            self.faults.extend(beyond.iter().map(|origin| refusal("env", origin, &pair.origin)));
            self.policy.env.set.push(pair.clone());
        }
    }
}

fn refusal(key: &str, asked: &Origin, enforced: &Origin) -> Fault {
    Fault::new(asked.clone(), format!("`{key}` is more than the system allows"))
        .hint(format!("it is enforced at {enforced}"))
}

pub(crate) const fn rank(mode: NetworkMode) -> u8 {
    match mode {
        NetworkMode::None => 0,
        NetworkMode::Restricted => 1,
        NetworkMode::Full => 2,
    }
}

fn covers_bind(mine: &Bind, theirs: &Bind) -> bool {
    let access_ok = mine.access == Access::ReadWrite || theirs.access == Access::ReadOnly;
    theirs.host.is_within(&mine.host) && access_ok
}

fn covers_credential(mine: &Credential, theirs: &Credential) -> bool {
    let hosts_ok = theirs.hosts.iter().all(|host| mine.hosts.contains(host));
    // The broker keeps it from the command; variables do not.
    let via_ok = mine.via == theirs.via || mine.via == Via::Environment;
    mine.name == theirs.name && mine.source == theirs.source && hosts_ok && via_ok
}

#[cfg(test)]
mod tests;
