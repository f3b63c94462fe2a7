//! What the caller says beside the files: values from variables and flags, each parsed by the rule of its key.

use crate::document::Definition;
use crate::fault::{Fault, nearest};
use crate::model::{Access, Bind, EnvPattern, NetworkMode, Project, Workdir};
use crate::rules;
use crate::shape::NETWORK_MODES;
use crate::vocabulary::Vocabulary;
use polder_facts::{Grant, HostPath, Origin, Sourced};
use std::path::Path;
use std::str::FromStr;

/// The places that paths on a command line stand on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The user's home directory.
    pub home: HostPath,
    /// The root of the tree that the command works on.
    pub workspace_root: HostPath,
    /// Where the user stands; the root or below it.
    pub working_dir: HostPath,
}

/// One layer of the caller: variables, or flags.
pub(crate) struct Said<'a> {
    pub(crate) vocabulary: &'a Vocabulary,
    pub(crate) scope: &'a Scope,
    pub(crate) sandbox: Option<Sourced<String>>,
    pub(crate) definition: Definition,
    pub(crate) network: Option<Sourced<NetworkMode>>,
    /// Peers that grants add.
    pub(crate) peers: Vec<Sourced<String>>,
    pub(crate) cow: Option<Sourced<()>>,
    pub(crate) worktree: Option<Sourced<()>>,
    pub(crate) untracked: Option<Sourced<()>>,
    pub(crate) projects: Vec<Project>,
    pub(crate) workspace_name: Option<Sourced<String>>,
    pub(crate) untrusted: Option<Sourced<()>>,
    pub(crate) workspace_from: Option<Sourced<String>>,
    pub(crate) discard: Option<Sourced<()>>,
    pub(crate) faults: Vec<Fault>,
}

impl<'a> Said<'a> {
    pub(crate) const fn nothing(vocabulary: &'a Vocabulary, scope: &'a Scope, origin: Origin) -> Self {
        Self {
            vocabulary,
            scope,
            sandbox: None,
            definition: Definition::silent(origin),
            network: None,
            peers: Vec::new(),
            cow: None,
            worktree: None,
            untracked: None,
            projects: Vec::new(),
            workspace_name: None,
            untrusted: None,
            workspace_from: None,
            discard: None,
            faults: Vec::new(),
        }
    }

    pub(crate) fn fault(&mut self, origin: &Origin, message: impl Into<String>) {
        self.faults.push(Fault::new(origin.clone(), message));
    }

    /// The value with its place, or nothing and a fault.
    pub(crate) fn keep<T>(&mut self, result: Result<T, String>, origin: &Origin) -> Option<Sourced<T>> {
        match result {
            Ok(value) => Some(Sourced::new(value, origin.clone())),
            Err(message) => {
                self.fault(origin, message);
                None
            }
        }
    }

    pub(crate) fn sandbox(&mut self, name: &str, origin: &Origin) {
        self.sandbox = Some(Sourced::new(name.to_owned(), origin.clone()));
    }

    pub(crate) fn engine(&mut self, name: &str, origin: &Origin) {
        match self.vocabulary.choice(name) {
            Ok(choice) => self.definition.engine = Some(Sourced::new(choice, origin.clone())),
            Err((message, hint)) => self.faults.push(Fault::new(origin.clone(), message).hint(hint)),
        }
    }

    pub(crate) fn network(&mut self, word: &str, origin: &Origin) {
        let mode = match word {
            "none" | "false" => NetworkMode::None,
            "restricted" => NetworkMode::Restricted,
            "full" | "true" => NetworkMode::Full,
            _ => {
                let near = nearest(word, NETWORK_MODES.iter().copied());
                let message = format!("`{word}` is not one of {}", NETWORK_MODES.join(", "));
                self.faults.push(Fault::new(origin.clone(), message).maybe_hint(near));
                return;
            }
        };
        self.network = Some(Sourced::new(mode, origin.clone()));
    }

    /// A value that is parsed by its own type.
    pub(crate) fn unit<T: FromStr<Err: std::fmt::Display>>(
        &mut self,
        text: &str,
        origin: &Origin,
    ) -> Option<Sourced<T>> {
        self.keep(text.parse().map_err(|error| format!("`{text}` {error}")), origin)
    }

    pub(crate) fn count(&mut self, text: &str, origin: &Origin) -> Option<Sourced<u64>> {
        let count = text.parse().ok().filter(|count| *count > 0);
        self.keep(count.ok_or_else(|| format!("`{text}` is not a whole number above zero")), origin)
    }

    pub(crate) fn cpus(&mut self, text: &str, origin: &Origin) -> Option<Sourced<f64>> {
        let cpus = text.parse().ok().filter(|cpus: &f64| cpus.is_finite() && *cpus > 0.0);
        self.keep(cpus.ok_or_else(|| format!("`{text}` is not a number above zero")), origin)
    }

    pub(crate) fn read_only(&mut self, read_only: bool, origin: &Origin) {
        let access = if read_only { Access::ReadOnly } else { Access::ReadWrite };
        self.definition.access = Some(Sourced::new(access, origin.clone()));
    }

    pub(crate) fn workdir(&mut self, text: &str, origin: &Origin) {
        let workdir = if text == "host" { Ok(Workdir::Host) } else { rules::guest_path(text).map(Workdir::At) };
        self.definition.workdir = self.keep(workdir, origin);
    }

    /// `HOST[:GUEST][:rw|:ro][:optional]`; a guest path is absolute, which is how the colon before it is found.
    pub(crate) fn bind(&mut self, text: &str, origin: &Origin) {
        let (named, optional) = match text.strip_suffix(":optional") {
            Some(named) => (named, true),
            None => (text, false),
        };
        let (paths, access) = match named.rsplit_once(':') {
            Some((paths, "rw")) => (paths, Access::ReadWrite),
            Some((paths, "ro")) => (paths, Access::ReadOnly),
            _ => (named, Access::ReadOnly),
        };
        let mut parts = paths.split(":/");
        let (host, guest) = (parts.next().unwrap_or_default(), parts.next());
        if parts.next().is_some() || (guest.is_none() && host.contains(':')) {
            self.fault(
                origin,
                format!("`{text}` is not HOST[:GUEST][:rw][:optional], with an absolute path for GUEST"),
            );
            return;
        }
        let scope = self.scope;
        let host = rules::host_path(host, scope.working_dir.as_path(), scope.home.as_path());
        let Some(host) = self.keep(host, origin) else { return };
        let guest = match guest {
            Some(guest) => rules::guest_path(&format!("/{guest}")),
            None => rules::same_inside(&host.value),
        };
        if let Some(guest) = self.keep(guest, origin) {
            self.push_bind(Bind { host: host.value, guest: guest.value, access, optional }, origin);
        }
    }

    pub(crate) fn profile(&mut self, name: &str, origin: &Origin) {
        let list = self.definition.profiles.get_or_insert_with(|| Sourced::new(Vec::new(), origin.clone()));
        list.value.push(Sourced::new(name.to_owned(), origin.clone()));
    }

    pub(crate) fn project(&mut self, text: &str, origin: &Origin) {
        let Some((name, path)) = text.split_once('=') else {
            self.fault(origin, format!("`{text}` is not NAME=PATH"));
            return;
        };
        let scope = self.scope;
        let host = rules::host_path(path, scope.working_dir.as_path(), scope.home.as_path());
        let (name, host) = (self.keep(rules::name(name), origin), self.keep(host, origin));
        if let (Some(name), Some(host)) = (name, host) {
            self.projects.push(Project { name: name.value, host: host.value, origin: origin.clone() });
        }
    }

    fn push_bind(&mut self, bind: Bind, origin: &Origin) {
        let list = self.definition.binds.get_or_insert_with(|| Sourced::new(Vec::new(), origin.clone()));
        list.value.push(Sourced::new(bind, origin.clone()));
    }

    /// `K=V` sets, `K` passes.
    pub(crate) fn env(&mut self, text: &str, origin: &Origin) {
        match text.split_once('=') {
            Some((_, value)) if value.contains('\0') => self.fault(origin, "the value has a NUL byte"),
            Some((name, value)) => {
                let pair = rules::env_name(name).map(|name| (name, value.to_owned()));
                let pair = self.keep(pair, origin);
                self.definition.env_set.extend(pair);
            }
            None => self.pass(text, origin),
        }
    }

    fn pass(&mut self, name: &str, origin: &Origin) {
        let pattern = rules::env_name(name).map(|glob| EnvPattern { glob, negated: false });
        if let Some(pattern) = self.keep(pattern, origin) {
            let list = self.definition.env_pass.get_or_insert_with(|| Sourced::new(Vec::new(), origin.clone()));
            list.value.push(pattern);
        }
    }

    pub(crate) fn peer(&mut self, text: &str, origin: &Origin) {
        let peer = self.keep(rules::peer(text), origin);
        self.peers.extend(peer);
    }

    pub(crate) fn grant(&mut self, grant: &Grant, origin: &Origin) {
        match grant {
            Grant::FsRead(path) => self.grant_path(path, Access::ReadOnly, origin),
            Grant::FsWrite(path) => self.grant_path(path, Access::ReadWrite, origin),
            Grant::NetConnect(peer) => self.peer(peer, origin),
            Grant::NetFull => self.network("full", origin),
            Grant::Env(name) => self.pass(name, origin),
            Grant::Limit { name, value } => self.limit(name, value, origin),
        }
    }

    fn limit(&mut self, name: &str, value: &str, origin: &Origin) {
        match name {
            "memory" => self.definition.limits.memory = self.unit(value, origin),
            "cpus" => self.definition.limits.cpus = self.cpus(value, origin),
            "pids" => self.definition.limits.pids = self.count(value, origin),
            "disk" => self.definition.limits.disk = self.unit(value, origin),
            "files" => self.definition.limits.files = self.count(value, origin),
            "output" => self.definition.limits.output = self.unit(value, origin),
            "timeout" => self.definition.limits.timeout = self.unit(value, origin),
            _ => self.fault(origin, format!("there is no limit `{name}`")),
        }
    }

    fn grant_path(&mut self, path: &Path, access: Access, origin: &Origin) {
        let scope = self.scope;
        let host = path
            .to_str()
            .ok_or_else(|| format!("`{}` is not UTF-8", path.display()))
            .and_then(|text| rules::host_path(text, scope.working_dir.as_path(), scope.home.as_path()));
        let Some(Sourced { value: host, .. }) = self.keep(host, origin) else { return };
        let inside = host.as_path().strip_prefix(scope.workspace_root.as_path());
        match (access, inside) {
            // The workspace is there already; what a grant can add is that a protection goes.
            (Access::ReadWrite, Ok(relative)) => {
                let text = relative.to_str().unwrap_or_default();
                let pattern = rules::path_pattern(text, scope.home.as_path());
                let pattern = self.keep(pattern, origin);
                self.definition.unprotect.extend(pattern);
            }
            (Access::ReadOnly, _) | (Access::ReadWrite, Err(_)) => {
                if let Some(guest) = self.keep(rules::same_inside(&host), origin) {
                    self.push_bind(Bind { host, guest: guest.value, access, optional: false }, origin);
                }
            }
        }
    }
}
