//! A plan as text: what `--dry-run` prints, and what the hash is taken over.

use crate::plan::{Asked, Caches, MaskKind, Plan, Reserved, Role, Sharing, SystemKind, World};
use polder_facts::git::GitIdentity;
use polder_facts::{Origin, Sourced};
use polder_policy::{Access, EngineChoice, Limits, NetworkMode, Workspace, WorkspaceMode};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

impl Plan {
    /// A name for exactly this plan: equal plans have equal hashes, on every machine.
    pub fn hash(&self) -> String {
        let mut text = self.to_string();
        // Values of variables are not printed, but they are part of what happens.
        for (name, value) in &self.env {
            let _ = writeln!(text, "{name:?}={value:?}");
        }
        for written in &self.files.written {
            text.push_str(&written.content);
        }
        Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sandbox,
            engine,
            command,
            world,
            workdir,
            identity,
            env,
            env_origins,
            path,
            git_identity,
            files,
            network,
            beside,
            workspace,
            observe,
            scope,
            limits,
            image,
            caches,
            credentials,
            require,
            accept,
            unsandboxed_permitted,
            engine_options,
        } = self;
        let mut out = Table { f };
        if let Some(name) = sandbox {
            out.row("sandbox", name, "")?;
        }
        let choice = match &engine.value {
            EngineChoice::Auto => "auto",
            EngineChoice::Named(id) => id,
        };
        out.row("engine", choice, &engine.origin)?;
        out.row("command", &shown(command), "")?;
        out.row("workdir", &workdir.to_string(), "")?;
        match world {
            World::Made => {
                let caller = if identity.caller_is_root { "mapped from root" } else { "mapped to itself" };
                out.row("user", &format!("{} (uid {}, {caller})", identity.name, identity.uid), "")?;
                let home = match image {
                    Some(_) => "the image's (private; what the image has there is seen)".to_owned(),
                    None => format!("{} (empty, private)", identity.home),
                };
                out.row("home", &home, "")?;
            }
            World::Ruled => {
                out.row("world", "the host's own, behind rules: paths are where they are", "")?;
                out.row("user", &format!("uid {} of the host", identity.uid), "")?;
                out.row("home", "a directory of the run's own, with links to what is bound from the real one", "")?;
            }
            World::Open => {
                out.row("world", "the host's own, all of it: no rule about files or the network is kept", "")?;
                out.row("user", &format!("uid {} of the host", identity.uid), "")?;
            }
        }
        for entry in &files.system {
            match &entry.kind {
                SystemKind::Directory => out.row("system", &format!("{} (read-only)", entry.path), "")?,
                SystemKind::Link(target) => {
                    out.row("system", &format!("{} -> {}", entry.path, target.display()), "")?;
                }
            }
        }
        for shown in &files.shown {
            let role = match shown.role {
                Role::Workspace => "workspace",
                Role::Repository | Role::EnclosingTree => "repository",
                Role::Bind => "bind",
                Role::Cache => "cache",
                Role::State => "state",
                Role::Lent => "lent",
            };
            let apart = shown.role == Role::Workspace && workspace.value.mode != WorkspaceMode::Direct;
            let access = match shown.access {
                Access::ReadOnly => "read-only",
                Access::ReadWrite if apart => "read-write, in a layer of its own",
                Access::ReadWrite => "read-write",
            };
            out.row(role, &format!("{} at {} ({access})", shown.host, shown.guest), &shown.origin)?;
        }
        for unreplaceable in &files.unreplaceable {
            out.row("note", &unreplaceable.to_string(), "")?;
        }
        for absent in &files.absent {
            let what = format!("{} (optional bind: the host has nothing there that you can reach)", absent.value);
            out.row("skipped", &what, &absent.origin)?;
        }
        match world {
            World::Made => {
                out.row("private", &format!("/tmp, /dev/shm and home, {} together", files.scratch), "")?;
            }
            World::Ruled => out.row("shared", "/tmp (read-write, the host's own)", "")?,
            World::Open => {}
        }
        for mask in &files.masks {
            let what = match mask.kind {
                MaskKind::Protect => "protected",
                MaskKind::Hide => "hidden",
            };
            out.row(what, &mask.path.to_string(), &mask.origin)?;
        }
        for pinned in &files.pinned {
            out.row("pinned", &pinned.to_string(), "")?;
        }
        for Reserved { name, existing: _, origin, lifted_by: _ } in &files.reserved {
            out.row("set-aside", &format!("`{name}` in any directory (when the run has ended)"), origin)?;
        }
        // One rule can name a path several times, with other names that make it count: that is one line.
        let mut told = BTreeSet::new();
        for swept in files.swept.iter().filter(|swept| told.insert((&swept.path, swept.origin.to_string()))) {
            out.row("set-aside", &swept.path.to_string(), &swept.origin)?;
        }
        for swept in files.git.missing.iter().filter(|swept| swept.asked == Asked::ByRule) {
            out.row("set-aside", &format!("what git obeys in {}", swept.path), &swept.origin)?;
        }
        for pattern in &files.partial_patterns {
            out.row("protected", &format!("{} (what exists at the start)", pattern.value), &pattern.origin)?;
        }
        for pattern in &files.hidden_at_start {
            out.row("hidden", &format!("{} (what exists at the start)", pattern.value), &pattern.origin)?;
        }
        let mode = match network.value.mode {
            NetworkMode::None => "none",
            NetworkMode::Restricted => "restricted",
            NetworkMode::Full => "full",
        };
        out.row("network", mode, &network.origin)?;
        if let Some(beside) = beside {
            out.row(
                "beside",
                &format!("the loopback is shared with {}", beside.value.services.join(", ")),
                &beside.origin,
            )?;
        }
        for peer in &network.value.allow {
            out.row("allow", &peer.value, &peer.origin)?;
        }
        for peer in &network.value.deny {
            out.row("deny", &peer.value, &peer.origin)?;
        }
        // One line for each rule that lets variables in, polder's own first.
        let mut by_rule: BTreeMap<Option<&Origin>, Vec<_>> = BTreeMap::from([(None, Vec::new())]);
        for name in env.keys() {
            by_rule.entry(env_origins.get(name)).or_default().push(name.to_string_lossy());
        }
        for (origin, names) in by_rule {
            out.row("env", &names.join(" "), origin.map(ToString::to_string).unwrap_or_default())?;
        }
        for Sourced { value, origin } in path {
            out.row("path", &value.display().to_string(), origin)?;
        }
        if let Some(identity @ GitIdentity { name, email, file, unread: _ }) = git_identity {
            let known = |value: &Option<String>, word: &str| value.clone().unwrap_or_else(|| format!("no {word}"));
            let author = match (name, email) {
                (None, None) => "no name and no address: git asks who commits".to_owned(),
                _ => format!("{} <{}>", known(name, "name"), known(email, "address")),
            };
            out.row("git", &author, file.as_ref().map(|file| file.display().to_string()).unwrap_or_default())?;
            for warning in identity.warnings() {
                out.row("note", &warning, "")?;
            }
        }
        let mode = match workspace.value.mode {
            WorkspaceMode::Direct => "direct",
            WorkspaceMode::Cow => "cow",
            WorkspaceMode::Worktree => "worktree",
        };
        let Workspace { mode: _, name, from, keep, untracked, projects, main_project_name: _ } = &workspace.value;
        let name = name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
        let from = from.as_deref().map(|from| format!(", begins with those of {from}")).unwrap_or_default();
        let kept = if *keep { "" } else { ", thrown away at the end" };
        let untracked = if *untracked { ", with files that git does not know" } else { "" };
        out.row("changes", &format!("{mode}{name}{untracked}{from}{kept}"), &workspace.origin)?;
        for project in projects {
            out.row("project", &format!("{} of {}", project.name, project.host), &project.origin)?;
        }
        if *world == World::Made {
            out.row("observe", observe.value.name(), &observe.origin)?;
        }
        if scope.origin != Origin::BuiltIn {
            out.row("scope", scope.value.name(), &scope.origin)?;
        }
        print_limits(&mut out, limits)?;
        if let Some(Sourced { value, origin }) = image {
            out.row("image", &format!("{value:?}"), origin)?;
        }
        if let Some(caches) = caches {
            print_caches(&mut out, caches)?;
        }
        for Sourced { value, origin } in credentials {
            out.row("credential", &format!("{} for {}", value.name, value.hosts.join(", ")), origin)?;
        }
        for Sourced { value, origin } in require {
            out.row("require", value.name(), origin)?;
        }
        for Sourced { value, origin } in accept {
            out.row("accept", value.name(), origin)?;
        }
        if let Some(origin) = unsandboxed_permitted {
            out.row("permitted", "running without a sandbox", origin)?;
        }
        for (id, Sourced { value, origin }) in engine_options {
            out.row("options", &format!("{id}: {value}"), origin)?;
        }
        Ok(())
    }
}

/// What is kept; the directories themselves stand among what is shown.
fn print_caches(out: &mut Table<'_, '_>, Sourced { value, origin }: &Sourced<Caches>) -> fmt::Result {
    let Caches { scope, fallback, kept, ttl, max_scopes, sharing, .. } = value;
    let start = fallback.as_ref().map(|from| format!(", a new one from `{}`", from.prefix)).unwrap_or_default();
    let what = match sharing {
        Sharing::ReadWrite => format!("`{}`{start}, unused for {ttl} or beyond {max_scopes} removed", scope.prefix),
        Sharing::RestoreOnly => format!("`{}`{start}, restored and never changed: the run is untrusted", scope.prefix),
    };
    out.row("kept", &what, origin)?;
    for kept in kept.iter().filter(|kept| kept.source.is_none()) {
        out.row("kept", &format!("nothing yet for {}", kept.guest), origin)?;
    }
    Ok(())
}

fn print_limits(out: &mut Table<'_, '_>, limits: &Limits) -> fmt::Result {
    let Limits { memory, cpus, pids, disk, files, output, timeout } = limits;
    fn line<T: fmt::Display>(out: &mut Table<'_, '_>, name: &str, value: &Option<Sourced<T>>) -> fmt::Result {
        match value {
            Some(Sourced { value, origin }) => out.row("limit", &format!("{name} {value}"), origin),
            None => Ok(()),
        }
    }
    line(out, "memory", memory)?;
    line(out, "cpus", cpus)?;
    line(out, "pids", pids)?;
    line(out, "disk", disk)?;
    line(out, "files", files)?;
    line(out, "output", output)?;
    line(out, "timeout", timeout)
}

/// A command as one line, quoted where a shell would need it and with control characters made visible.
fn shown(command: &[std::ffi::OsString]) -> String {
    let words = command.iter().map(|word| {
        let text = word.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
        if !text.is_empty() && text.chars().all(plain) { text.into_owned() } else { format!("{text:?}") }
    });
    words.collect::<Vec<_>>().join(" ")
}

struct Table<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
}

impl Table<'_, '_> {
    fn row(&mut self, key: &str, value: &str, origin: impl fmt::Display) -> fmt::Result {
        let origin = origin.to_string();
        // Control characters in a path must not reach the terminal.
        let value: String =
            value.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect();
        if origin.is_empty() || origin == "built-in" {
            writeln!(self.f, "{key:<12}{value}")
        } else {
            writeln!(self.f, "{key:<12}{value}  # {origin}")
        }
    }
}
