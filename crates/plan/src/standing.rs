//! What a plan says about one path. Pure: what is on the host is for others to look up.
//!
//! This is how a denied call becomes a violation with a rule and a way to allow it, and what `polder why` answers.

use crate::plan::{Configuration, Mask, MaskKind, Plan, Role, Shown, SystemKind};
use polder_facts::Grant;
use polder_policy::{Access, WorkspaceMode};
use std::path::{Path, PathBuf};

/// What a command wants to do at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Find it, read it, execute it, or connect to it.
    Read,
    /// Change it, make it or remove it.
    Write,
}

/// What a plan says to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is against it.
    Allowed {
        /// The path on the host that stands behind it, where there is one.
        host: Option<PathBuf>,
    },
    /// The path is the sandbox's own part of the kernel: nothing of the host can be shown there.
    Kernel,
    /// A rule is against it.
    Denied(Denied),
}

/// Why something is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// The same thing on the host.
    pub host: PathBuf,
    /// The rule.
    pub rule: String,
    /// What enforces it.
    pub layer: &'static str,
    /// What allows it.
    pub way: Way,
}

/// What allows something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Showing the host's path.
    Show,
    /// This grant and no smaller one.
    Only(Grant),
    /// No grant does; this does instead.
    Other(String),
}

/// What keeps from a command what is not shown.
pub const MOUNTS: &str = "the mount namespace";
const READ_ONLY: &str = "a read-only mount";

impl Plan {
    /// What is against doing this at a path inside; the path is absolute and without links.
    pub fn standing(&self, path: &Path, wish: Wish) -> Standing {
        if ["/proc", "/sys", "/dev", "/run/polder"].iter().any(|own| path.starts_with(own)) {
            return Standing::Kernel;
        }
        let by_policy = self.files.shown.iter().filter(|shown| shown.role != Role::Lent);
        let holder = by_policy.filter(|shown| path.starts_with(shown.guest.as_path()));
        if let Some(shown) = holder.max_by_key(|shown| shown.guest.as_path().components().count()) {
            return self.in_shown(shown, path, wish);
        }
        let host = path.to_owned();
        let is_system = |entry: &&crate::SystemEntry| path.starts_with(entry.path.as_path());
        if self.files.system.iter().filter(|entry| entry.kind == SystemKind::Directory).any(|entry| is_system(&entry)) {
            let way = Way::Other("directories of programs are never writable inside".to_owned());
            let rule = "programs are read-only".to_owned();
            return allowed_or(wish, Some(host.clone()), Denied { host, rule, layer: READ_ONLY, way });
        }
        if self.is_made(path) {
            let way = Way::Other("polder writes this file itself for every run".to_owned());
            let rule = "the sandbox has its own".to_owned();
            return allowed_or(wish, None, Denied { host, rule, layer: READ_ONLY, way });
        }
        if self.files.kept.as_ref().is_some_and(|kept| path.starts_with(kept.as_path())) {
            let way = Way::Other("nobody is shown what polder keeps about runs".to_owned());
            let rule = "it is polder's own".to_owned();
            return Standing::Denied(Denied { host, rule, layer: MOUNTS, way });
        }
        let rule = match self.private_place(path) {
            Some(place) => format!("`{}` inside is the sandbox's own", place.display()),
            None => "the path is not shown inside".to_owned(),
        };
        Standing::Denied(Denied { host, rule, layer: MOUNTS, way: Way::Show })
    }

    fn in_shown(&self, shown: &Shown, path: &Path, wish: Wish) -> Standing {
        let below = path.strip_prefix(shown.guest.as_path()).unwrap_or("".as_ref());
        // Joining nothing would add a slash, which a file must not have.
        let host = if below.as_os_str().is_empty() {
            shown.host.as_path().to_owned()
        } else {
            shown.host.as_path().join(below)
        };
        let masks = self.files.masks.iter().filter(|mask| path.starts_with(mask.path.as_path()));
        match masks.max_by_key(|mask| mask.path.as_path().components().count()) {
            Some(Mask { kind: MaskKind::Hide, origin, .. }) => {
                let way = Way::Other(format!("`deny_read` says so ({origin}); no grant lifts it"));
                let rule = format!("deny_read ({origin})");
                return Standing::Denied(Denied { host, rule, layer: MOUNTS, way });
            }
            Some(mask @ Mask { kind: MaskKind::Protect, origin, .. }) if wish == Wish::Write => {
                let rule = format!("protect ({origin})");
                return Standing::Denied(Denied { host, rule, layer: READ_ONLY, way: Self::lifting(mask) });
            }
            Some(Mask { kind: MaskKind::Protect, .. }) | None => {}
        }
        if wish == Wish::Write && shown.access == Access::ReadOnly {
            let (what, way) = match shown.role {
                Role::Repository if self.workspace.value.mode != WorkspaceMode::Direct => {
                    let way =
                        "the layer lies over the workspace alone; git's own part changes with `workspace: direct`";
                    ("repository, read-only", Way::Other(way.to_owned()))
                }
                Role::Workspace | Role::Repository => {
                    ("read_only", Way::Other("the workspace is read-only; run without `read_only`".to_owned()))
                }
                Role::Cache => ("cache, read-only", Way::Other("the policy makes this cache read-only".to_owned())),
                Role::State => ("state, read-only", Way::Other("a service can write its state".to_owned())),
                Role::EnclosingTree if below.components().any(|part| part.as_os_str() == ".git") => {
                    let way = format!("it is git's own; work at the top of the repository: -C {}", shown.host);
                    ("repository around the workspace, read-only", Way::Other(way))
                }
                Role::EnclosingTree => ("repository around the workspace, read-only", Self::writable(shown)),
                Role::Bind | Role::Lent => ("bind, read-only", Self::writable(shown)),
            };
            let rule = format!("{what} ({})", shown.origin);
            return Standing::Denied(Denied { host, rule, layer: READ_ONLY, way });
        }
        Standing::Allowed { host: Some(host) }
    }

    /// What makes a bind writable. A grant shows the host's path at the same path inside, where this one is not asked for.
    fn writable(shown: &Shown) -> Way {
        let Shown { host, guest, .. } = shown;
        if host.as_path() == guest.as_path() {
            return Way::Show;
        }
        Way::Other(format!("`--bind {host}:{guest}:rw` in place of the read-only one allows it"))
    }

    /// The grant that lifts a protection: it names the rule, not the path.
    fn lifting(mask: &Mask) -> Way {
        match &mask.lifted_by {
            Some(rule) => Way::Only(Grant::FsWrite(rule.into())),
            None => Way::Other(format!("it goes with another protected path ({})", mask.origin)),
        }
    }

    /// Whether polder makes this file of `/etc`, or takes it from the host.
    fn is_made(&self, path: &Path) -> bool {
        let etc = |name: &str| path.strip_prefix("/etc").is_ok_and(|below| below.starts_with(name));
        self.files.written.iter().any(|written| written.path.as_path() == path)
            || self.files.configuration.iter().any(|entry| match entry {
                Configuration::File(name) | Configuration::Directory(name) => etc(name),
            })
    }

    /// The private directory that a path is in.
    pub fn private_place(&self, path: &Path) -> Option<&Path> {
        let places = ["/tmp", "/var/tmp"].map(Path::new);
        places.into_iter().chain([self.identity.home.as_path()]).find(|place| path.starts_with(place))
    }
}

fn allowed_or(wish: Wish, host: Option<PathBuf>, denied: Denied) -> Standing {
    match wish {
        Wish::Read => Standing::Allowed { host },
        Wish::Write => Standing::Denied(denied),
    }
}
