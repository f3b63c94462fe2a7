//! Directories that outlive a run: which ones, under which names, and who may change them. Pure; the store does the rest.
//!
//! A cache is private to a repository and a sandbox: both are in its name, so whatever a project's file says stays among
//! what the same project wrote before.

use crate::compile::{Fault, home_inside};
use crate::plan::{Caches, Identity, Kept, Role, Scope, Sharing, Shown};
use polder_facts::{GuestPath, HostFacts, HostPath, Sourced, TreeFacts, UserFacts};
use polder_policy::{Access, Cache, CachePath, Policy};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The prefix where a policy gives none. Not the branch: its name is text in a file that a command can write.
const PREFIX: &str = "default";
/// Hexadecimal digits of a name in the store: 128 bits, which nobody collides by chance.
const NAME_DIGITS: usize = 32;
/// Directories of one run.
const PATHS_MAX: usize = 32;
/// Places inside that a cache must not stand in for.
const SYSTEM: [&str; 14] = [
    "/bin", "/boot", "/etc", "/home", "/lib", "/lib64", "/opt", "/root", "/run", "/sbin", "/tmp", "/usr", "/var",
    "/var/tmp",
];

/// What a policy keeps between runs on this host, in a world that is made for the command.
pub(crate) fn caches(
    policy: &Policy,
    host: &HostFacts,
    identity: &Identity,
    faults: &mut Vec<Fault>,
) -> Option<Sourced<Caches>> {
    let Sourced { value: cache, origin } = policy.cache.as_ref()?;
    let mut fault = |message: String, remedy: &str| faults.push(Fault::new(origin.clone(), message, remedy));
    let Some(store) = host.caches.store.as_ref().and_then(|store| HostPath::new(store).ok()) else {
        fault("there is no place to keep a cache".to_owned(), "set HOME or XDG_STATE_HOME");
        return None;
    };
    if cache.paths.len() > PATHS_MAX {
        fault(format!("a cache has at most {PATHS_MAX} paths, this one has {}", cache.paths.len()), "keep a parent");
        return None;
    }
    let sharing = if policy.untrusted.is_some() { Sharing::RestoreOnly } else { Sharing::ReadWrite };
    let repository = repository(&host.tree);
    let names = Names::of(policy, cache, &repository);
    let mut kept: Vec<Kept> = Vec::new();
    for path in &cache.paths {
        let guest = match inside(path, identity) {
            Ok(guest) => guest,
            Err(message) => {
                fault(message, "choose another path inside");
                continue;
            }
        };
        if kept.iter().any(|other| other.guest.is_within(&guest) || guest.is_within(&other.guest)) {
            fault(format!("`{guest}` is kept twice, by itself or below another"), "leave one out");
            continue;
        }
        let name = name(&[b"path", bytes(&guest)]);
        let source = match sharing {
            Sharing::ReadWrite => Some(names.scope.name.clone()),
            Sharing::RestoreOnly => names
                .in_order()
                .find(|scope| host.caches.present.contains(&names.place(&store, &scope.name, &name)))
                .map(|scope| scope.name.clone()),
        };
        kept.push(Kept { guest, name, source });
    }
    let Names { family, scope, fallback } = names;
    let Cache { ttl, max_scopes, .. } = cache;
    let sandbox = policy.name.clone();
    let repository = repository.display().to_string();
    let (ttl, max_scopes) = (*ttl, *max_scopes);
    let caches = Caches { store, repository, sandbox, family, scope, fallback, kept, ttl, max_scopes, sharing };
    Some(Sourced::new(caches, origin.clone()))
}

/// The host paths that a run which may not make anything could be shown, for whoever gathers facts.
pub fn candidates(policy: &Policy, tree: &TreeFacts, user: &UserFacts, store: &Path) -> Vec<PathBuf> {
    let (Some(cache), Ok(store)) = (&policy.cache, HostPath::new(store)) else { return Vec::new() };
    let names = Names::of(policy, &cache.value, &repository(tree));
    let guests = cache.value.paths.iter().filter_map(|path| match path {
        CachePath::At(path) => Some(path.clone()),
        CachePath::InHome(below) => home_inside(user).join(below).ok(),
    });
    let places = guests.flat_map(|guest| {
        let name = name(&[b"path", bytes(&guest)]);
        names.in_order().map(|scope| names.place(&store, &scope.name, &name)).collect::<Vec<_>>()
    });
    places.collect()
}

/// The names in the store of everything that a policy may touch.
struct Names {
    family: String,
    scope: Scope,
    fallback: Option<Scope>,
}

impl Names {
    fn of(policy: &Policy, cache: &Cache, repository: &Path) -> Self {
        let sandbox = policy.name.as_deref().unwrap_or_default();
        let family = name(&[b"family", repository.as_os_str().as_encoded_bytes(), sandbox.as_bytes()]);
        let scope = |prefix: &str| Scope { prefix: prefix.to_owned(), name: name(&[b"scope", prefix.as_bytes()]) };
        let own = scope(cache.prefix.as_deref().unwrap_or(PREFIX));
        let fallback = cache.fallback_prefix.as_deref().map(scope).filter(|fallback| *fallback != own);
        Self { family, scope: own, fallback }
    }

    fn in_order(&self) -> impl Iterator<Item = &Scope> {
        std::iter::once(&self.scope).chain(&self.fallback)
    }

    fn place(&self, store: &HostPath, scope: &str, kept: &str) -> PathBuf {
        place(store, &self.family, scope, kept)
    }
}

fn place(store: &HostPath, family: &str, scope: &str, kept: &str) -> PathBuf {
    store.as_path().join(family).join(scope).join(kept)
}

/// A name of letters and digits for a list of texts; no two lists are the same stream of bytes.
fn name(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    hex.truncate(NAME_DIGITS);
    hex
}

fn bytes(path: &GuestPath) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// What a cache belongs to: the repository behind a linked worktree, so that worktrees share, else the workspace.
pub fn repository(tree: &TreeFacts) -> PathBuf {
    tree.worktree.as_ref().map_or_else(
        || tree.root.clone(),
        |worktree| match worktree.common_dir.parent() {
            Some(parent) if worktree.common_dir.file_name().is_some_and(|name| name == ".git") => parent.to_owned(),
            Some(_) | None => worktree.common_dir.clone(),
        },
    )
}

fn inside(path: &CachePath, identity: &Identity) -> Result<GuestPath, String> {
    let guest = match path {
        CachePath::At(path) => path.clone(),
        CachePath::InHome(below) => identity.home.join(below).map_err(|error| format!("`{path}` {error}"))?,
    };
    if SYSTEM.iter().any(|system| Path::new(system).starts_with(guest.as_path())) {
        return Err(format!("a cache at `{guest}` would stand in for a part of the system"));
    }
    if identity.home.is_within(&guest) {
        return Err(format!("a cache at `{guest}` would stand in for the home directory"));
    }
    Ok(guest)
}

/// The caches as the engines see them: paths like any other.
pub(crate) fn shown(caches: &Sourced<Caches>) -> Vec<Shown> {
    let Caches { store, family, kept, sharing, .. } = &caches.value;
    let entry = |kept: &Kept| {
        Some(Shown {
            host: HostPath::new(place(store, family, kept.source.as_deref()?, &kept.name)).ok()?,
            guest: kept.guest.clone(),
            access: match sharing {
                Sharing::ReadWrite => Access::ReadWrite,
                Sharing::RestoreOnly => Access::ReadOnly,
            },
            directory: true,
            role: Role::Cache,
            origin: caches.origin.clone(),
        })
    };
    kept.iter().filter_map(entry).collect()
}

/// Keeps caches and everything else apart, inside and on the host.
pub(crate) fn check(caches: &Sourced<Caches>, shown: &[Shown], system: &BTreeSet<&Path>, faults: &mut Vec<Fault>) {
    let Sourced { value: Caches { store, kept, .. }, origin } = caches;
    let mut fault = |message: String, remedy: &str| faults.push(Fault::new(origin.clone(), message, remedy));
    for Kept { guest, .. } in kept {
        for other in shown {
            let below = guest.is_within(&other.guest);
            if below || other.guest.is_within(guest) {
                let how = if below { "lies in" } else { "would hide" };
                let message = format!("a cache at `{guest}` {how} `{}`, which is shown there", other.guest);
                fault(message, "what is shown from the host stays by itself; choose another path for the cache");
            }
        }
        if let Some(system) = system.iter().find(|system| guest.as_path().starts_with(system)) {
            let message = format!("a cache at `{guest}` lies in `{}`, which is the host's", system.display());
            fault(message, "choose a path outside of the system's directories, such as one below `~`");
        }
    }
    for other in shown {
        if store.is_within(&other.host) || other.host.is_within(store) {
            let message = format!("`{}` is shown inside, and the caches are kept at `{store}`", other.host);
            fault(message, "show less of the host, or keep caches elsewhere with XDG_STATE_HOME");
        }
    }
}
