//! One sandbox: every key of it gets its meaning.

use super::Lower;
use crate::builtin::{CACHE_SCOPES, CACHE_TTL, shared_workdir};
use crate::check::{number, unit_text};
use crate::dialect::Dialect;
use crate::document::{Definition, Level};
use crate::fault::Fault;
use crate::model::{
    Access, Bind, Cache, Credential, EngineChoice, GitIdentityUse, Limits, Network, NetworkMode, Project, Via, Workdir,
    Workspace, WorkspaceMode,
};
use crate::rules;
use crate::tree::{Node, Value};
use polder_facts::{ByteSize, Guarantee, Sourced};
use std::path::PathBuf;
use std::str::FromStr;

impl Lower<'_> {
    pub(super) fn sandbox(&mut self, node: &Node, line: u32) -> Definition {
        let mut definition = Definition::silent(self.origin(line));
        definition.engine = node.get("engine").and_then(|engine| self.engine(engine));
        definition.network = node.get("network").and_then(|network| self.network(network));
        if self.source.dialect == Dialect::Visor && node.get("network").is_none() {
            definition.network_implied = Some(self.sourced(Network::of(NetworkMode::Full), line));
        }
        definition.access = self.access(node);
        definition.observe = node.get("observe").and_then(|mode| self.keep(mode.text()?.parse(), mode.line));
        definition.scope = node.get("scope").and_then(|scope| self.keep(scope.text()?.parse(), scope.line));
        definition.workdir = node.get("workdir").and_then(|workdir| self.workdir(workdir));
        if self.source.dialect == Dialect::Visor {
            definition.workdir_implied = Some(shared_workdir());
        }
        definition.workspace = node.get("workspace").and_then(|workspace| self.workspace(workspace));
        definition.profiles =
            self.list(node, "profiles", |lower, node| lower.keep(rules::name(node.text()?), node.line));
        definition.path = self.path(node);
        definition.git_identity = node.get("git_identity").and_then(|said| {
            let given = if said.bool()? { GitIdentityUse::Given } else { GitIdentityUse::Withheld };
            Some(self.sourced(given, said.line))
        });
        definition.env_pass = self.env_list(node);
        definition.env_set = self.env_values(node);
        definition.binds = self.list(node, "bind_paths", Self::bind);
        definition.limits = self.limits(node);
        let home = self.home;
        definition.protect = self.each(node.get("protect"), |text| rules::path_pattern(text, home));
        definition.deny_read = self.each(node.get("deny_read"), |text| rules::path_pattern(text, home));
        definition.credentials = self.list(node, "credentials", Self::credential);
        definition.cache = node.get("cache").and_then(|cache| self.cache(cache));
        definition.image = self.image(node);
        definition.visor_path =
            node.get("visor_path").and_then(|path| self.keep(rules::guest_path(path.text()?), path.line));
        // An unknown guarantee was reported with the types.
        definition.require = self.list(node, "require", Self::guarantee).map(|list| list.value).unwrap_or_default();
        definition.accept = self.list(node, "accept", Self::guarantee);
        definition.options = node.get("options").map(|options| self.sourced(options.to_json(), options.line));
        self.image_keys(node, &definition);
        definition
    }

    fn engine(&mut self, node: &Node) -> Option<Sourced<EngineChoice>> {
        let name = node.text()?;
        let choice = match self.vocabulary.choice(name) {
            Ok(choice) => choice,
            Err((message, hint)) => {
                let fault = Fault::new(self.origin(node.line), message).hint(hint);
                self.faults.push(fault);
                return None;
            }
        };
        if self.source.level == Level::Project
            && self.vocabulary.engine(&choice).is_some_and(|engine| engine.unsandboxed)
        {
            self.fault(node.line, format!("`{name}` enforces nothing and never comes from a project"));
        }
        Some(self.sourced(choice, node.line))
    }

    pub(super) fn network(&mut self, node: &Node) -> Option<Sourced<Network>> {
        let network = match &node.value {
            Value::Bool(true) => Network::of(NetworkMode::Full),
            Value::Bool(false) => Network::of(NetworkMode::None),
            Value::Text(mode) => Network::of(network_mode(mode)?),
            _ => {
                let allow = self.each(node.get("allow"), rules::peer);
                let deny = self.each(node.get("deny"), rules::peer);
                let mode = match node.get("mode") {
                    Some(mode) => network_mode(mode.text()?)?,
                    None => NetworkMode::Restricted,
                };
                for key in ["allow", "deny"] {
                    // Without the broker nobody reads the list, and a list that nobody reads must not look like a rule.
                    if mode != NetworkMode::Restricted
                        && let Some(entry) = node.entry(key)
                    {
                        self.fault(entry.line, format!("`{key}` works with `mode: restricted` only"));
                    }
                }
                Network { mode, allow, deny }
            }
        };
        Some(self.sourced(network, node.line))
    }

    pub(super) fn access(&self, node: &Node) -> Option<Sourced<Access>> {
        let node = node.get("read_only")?;
        let access = if node.bool()? { Access::ReadOnly } else { Access::ReadWrite };
        Some(self.sourced(access, node.line))
    }

    fn workdir(&mut self, node: &Node) -> Option<Sourced<Workdir>> {
        match node.text()? {
            "host" => Some(self.sourced(Workdir::Host, node.line)),
            path => self.keep(rules::guest_path(path).map(Workdir::At), node.line),
        }
    }

    fn workspace(&mut self, node: &Node) -> Option<Sourced<Workspace>> {
        let mut name_at = |key| node.get(key).and_then(|name| self.keep(rules::name(name.text()?), name.line));
        let (named, from, main) = (name_at("name"), name_at("from"), name_at("main_project_name"));
        let keep = node.get("keep").and_then(|keep| Some(self.sourced(keep.bool()?, keep.line)));
        let untracked = node.get("untracked").and_then(|said| Some(self.sourced(said.bool()?, said.line)));
        let mode = match node.text().or_else(|| node.get("mode")?.text()) {
            Some(mode) => workspace_mode(mode)?,
            // A name is for sharing what a run left behind, and the real tree needs no name for that.
            None if node.get("name").is_some() || node.get("from").is_some() => WorkspaceMode::Cow,
            None => WorkspaceMode::Direct,
        };
        if mode == WorkspaceMode::Direct {
            let said =
                [("name", &named), ("from", &from)].map(|(key, said)| said.as_ref().map(|said| (key, &said.origin)));
            for (key, origin) in said.into_iter().chain([keep.as_ref().map(|keep| ("keep", &keep.origin))]).flatten() {
                let message = format!("`{key}` works with `mode: cow` or `mode: worktree`");
                self.faults.push(Fault::new(origin.clone(), message));
            }
        }
        if let Some(untracked) = untracked.as_ref().filter(|_| mode != WorkspaceMode::Worktree) {
            let message = "`untracked` works with `mode: worktree`";
            self.faults.push(Fault::new(untracked.origin.clone(), message));
        }
        let projects = self.projects(node, mode);
        let workspace = Workspace {
            projects,
            main_project_name: main.map(|main| main.value),
            name: named.map(|name| name.value),
            from: from.map(|from| from.value),
            keep: keep.is_none_or(|keep| keep.value),
            untracked: untracked.is_some_and(|untracked| untracked.value),
            ..Workspace::of(mode)
        };
        Some(self.sourced(workspace, node.line))
    }

    fn projects(&mut self, node: &Node, mode: WorkspaceMode) -> Vec<Project> {
        let mut projects = Vec::new();
        for entry in node.get("projects").map(Node::entries).unwrap_or_default() {
            if mode != WorkspaceMode::Worktree {
                let message = "`projects` works with `mode: worktree`: a layer lies over one tree";
                self.fault(entry.line, message.to_owned());
            }
            let name = self.keep(rules::name(&entry.key), entry.line);
            let host = entry.node.text().map(|text| rules::host_path(text, self.base_dir(), self.home));
            let host = host.and_then(|host| self.keep(host, entry.line));
            if let (Some(name), Some(host)) = (name, host) {
                projects.push(Project { name: name.value, host: host.value, origin: host.origin });
            }
        }
        projects
    }

    /// A list under a key: what its items mean, and where the list stands.
    fn list<T>(
        &mut self,
        node: &Node,
        key: &str,
        item: impl Fn(&mut Self, &Node) -> Option<Sourced<T>>,
    ) -> Option<Sourced<Vec<Sourced<T>>>> {
        let entry = node.entry(key)?;
        let items = entry.node.items().iter().filter_map(|node| item(self, node)).collect();
        Some(self.sourced(items, entry.line))
    }

    fn path(&mut self, node: &Node) -> Vec<Sourced<PathBuf>> {
        let (base, home) = (self.base_dir().to_owned(), self.home);
        let directory = |text: &str| rules::host_path(text, &base, home).map(|path| path.as_path().to_owned());
        self.each(node.get("path"), directory)
    }

    fn bind(&mut self, node: &Node) -> Option<Sourced<Bind>> {
        let host_node = node.get("host")?;
        let host = rules::host_path(host_node.text()?, self.base_dir(), self.home);
        let host = self.keep(host, host_node.line);
        let guest = match node.get("container") {
            Some(guest) => self.keep(rules::guest_path(guest.text()?), guest.line)?.value,
            None => self.keep(rules::same_inside(&host.as_ref()?.value), host_node.line)?.value,
        };
        let read_only = node.get("read_only").and_then(Node::bool).unwrap_or(true);
        let access = if read_only { Access::ReadOnly } else { Access::ReadWrite };
        let optional = node.get("optional").and_then(Node::bool).unwrap_or(false);
        Some(self.sourced(Bind { host: host?.value, guest, access, optional }, host_node.line))
    }

    pub(super) fn env_values(&mut self, node: &Node) -> Vec<Sourced<(String, String)>> {
        let entries = node.get("env").map(Node::entries).unwrap_or_default();
        let mut set = Vec::new();
        for entry in entries {
            let value = match &entry.node.value {
                Value::Text(text) => text.clone(),
                Value::Bool(value) => value.to_string(),
                Value::Int(value) => value.to_string(),
                Value::Float(value) => value.to_string(),
                Value::Null | Value::List(_) | Value::Map(_) => continue,
            };
            if value.contains('\0') {
                self.fault(entry.line, format!("the value of `{}` has a NUL byte", entry.key));
            }
            set.extend(self.keep(rules::env_name(&entry.key).map(|name| (name, value)), entry.line));
        }
        set
    }

    pub(super) fn count(&self, node: &Node) -> Option<Sourced<u64>> {
        match node.value {
            Value::Int(count) => u64::try_from(count).ok().map(|count| self.sourced(count, node.line)),
            _ => None,
        }
    }

    fn unit<T: FromStr>(&self, node: Option<&Node>) -> Option<Sourced<T>> {
        let node = node?;
        unit_text(node).parse().ok().map(|value| self.sourced(value, node.line))
    }

    /// `limits`, and `resources`, which says the same in other words.
    pub(super) fn limits(&mut self, node: &Node) -> Limits {
        let limit = |key: &str| node.get("limits").and_then(|limits| limits.get(key));
        let resource = |key: &str| node.get("resources").and_then(|resources| resources.get(key));
        for (ours, theirs) in [("memory", "memory"), ("cpus", "cpu")] {
            if let (Some(_), Some(twin)) = (limit(ours), resource(theirs)) {
                self.fault(twin.line, format!("`resources.{theirs}` and `limits.{ours}` are the same thing; give one"));
            }
        }
        let cpus = limit("cpus").or_else(|| resource("cpu"));
        Limits {
            memory: self.unit::<ByteSize>(limit("memory").or_else(|| resource("memory"))),
            cpus: cpus.and_then(|cpus| Some(self.sourced(number(cpus)?, cpus.line))),
            pids: limit("pids").and_then(|pids| self.count(pids)),
            disk: self.unit(limit("disk")),
            files: limit("files").and_then(|files| self.count(files)),
            output: self.unit(limit("output")),
            timeout: self.unit(limit("timeout")),
        }
    }

    fn credential(&mut self, node: &Node) -> Option<Sourced<Credential>> {
        let (name, source, hosts) = (node.get("name")?, node.get("source")?, node.get("hosts")?);
        let parsed_name = self.keep(rules::name(name.text()?), name.line);
        let parsed_source = self.keep(rules::secret_source(source.text()?), source.line);
        let parsed_hosts = self.each(Some(hosts), rules::peer);
        if hosts.items().is_empty() {
            self.fault(hosts.line, "`hosts` is empty: nobody could see the credential");
        }
        let hosts = parsed_hosts.into_iter().map(|host| host.value).collect();
        let via = match node.get("via").and_then(Node::text) {
            Some("environment") => Via::Environment,
            Some(_) | None => Via::Broker,
        };
        let credential = Credential { name: parsed_name?.value, source: parsed_source?.value, hosts, via };
        Some(self.sourced(credential, name.line))
    }

    fn guarantee(&mut self, node: &Node) -> Option<Sourced<Guarantee>> {
        node.text()?.parse().ok().map(|guarantee| self.sourced(guarantee, node.line))
    }

    fn cache(&mut self, node: &Node) -> Option<Sourced<Cache>> {
        let text = |key: &str| node.get(key).and_then(|node| Some((node.text()?, node.line)));
        let mut prefix = |key: &str| {
            text(key).and_then(|(prefix, line)| self.keep(rules::name(prefix), line)).map(|prefix| prefix.value)
        };
        let (first, fallback) = (prefix("prefix"), prefix("fallback_prefix"));
        let paths = self.each(node.get("paths"), rules::cache_path);
        let max_scopes = node.get("max_scopes").and_then(|scopes| self.count(scopes));
        let cache = Cache {
            paths: paths.into_iter().map(|path| path.value).collect(),
            prefix: first,
            fallback_prefix: fallback,
            ttl: self.unit(node.get("ttl")).map_or(CACHE_TTL, |ttl| ttl.value),
            max_scopes: max_scopes.map_or(CACHE_SCOPES, |scopes| u32::try_from(scopes.value).unwrap_or(u32::MAX)),
        };
        if node.get("paths").is_some_and(|paths| paths.items().is_empty()) {
            self.fault(node.line, "`paths` is empty: nothing would be kept");
        }
        Some(self.sourced(cache, node.line))
    }
}

fn network_mode(word: &str) -> Option<NetworkMode> {
    [NetworkMode::None, NetworkMode::Restricted, NetworkMode::Full].into_iter().find(|mode| mode.name() == word)
}

fn workspace_mode(word: &str) -> Option<WorkspaceMode> {
    [WorkspaceMode::Direct, WorkspaceMode::Cow, WorkspaceMode::Worktree].into_iter().find(|mode| mode.name() == word)
}
