//! The ground that we build ourselves, from a judged plan. Pure: what is missing on the host was found out before.

use super::{
    Brought, DEVICE_LINKS, DEVICES, GitConfigs, allowance, bring_layers, c, etc, has_private_home, hides, identity,
    lay_layers, masks, relative, var_tmp_holds_mounts,
};
use polder_engine::{Fitted, Layers};
use polder_facts::GuestPath;
use polder_plan::{ALLOWANCE, Plan, Role, Shown, SystemKind};
use polder_policy::NetworkMode;
use polder_sys::{Access, Ground, Identity, NetNamespace, Root, Source, Step};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::path::Path;

pub(crate) fn access(access: polder_policy::Access) -> Access {
    match access {
        polder_policy::Access::ReadOnly => Access::ReadOnly,
        polder_policy::Access::ReadWrite => Access::ReadWrite,
    }
}

/// The network of a run.
pub(crate) fn net(plan: &Plan) -> NetNamespace {
    match plan.network.value.mode {
        NetworkMode::Full => NetNamespace::Host,
        // Restricted never becomes a `Fitted` without a broker; if it did, nothing must be open.
        NetworkMode::None | NetworkMode::Restricted if plan.beside.is_some() => NetNamespace::Shared,
        NetworkMode::None | NetworkMode::Restricted => NetNamespace::Own,
    }
}

/// Namespaces and a root in which everything that the plan shows is at its place.
pub(crate) fn ground(fitted: &Fitted, layers: Option<&Layers>) -> Ground {
    let plan = fitted.plan();
    let identity = identity(fitted);
    Ground {
        identity,
        net: net(plan),
        root: Root::Made,
        scratch_bytes: plan.files.scratch.0,
        steps: steps(plan, layers, identity),
        hostname: c(plan.identity.hostname),
    }
}

/// The steps that build the root, in an order in which every mount point exists before it is used.
fn steps(plan: &Plan, layers: Option<&Layers>, identity: Identity) -> Vec<Step> {
    let mut build = Build { steps: Vec::new(), made: BTreeSet::new(), shown: &plan.files.shown };
    for entry in &plan.files.system {
        match &entry.kind {
            SystemKind::Directory => {
                build.directory(&entry.path);
                build.bind(Source::System { path: c(entry.path.as_os_str()) }, relative(&entry.path), Access::ReadOnly);
            }
            SystemKind::Link(target) => {
                build.parents(&entry.path);
                build.steps.push(Step::Symlink { target: c(target), at: c(relative(&entry.path)) });
            }
        }
    }
    build.devices();
    build.etc(plan);
    // The process table has to come while the host's is still visible: the kernel compares the two.
    build.plain("proc", 0o755);
    build.steps.push(Step::Proc { at: c("proc") });
    build.private(plan);
    for shown in &plan.files.shown {
        match layers.filter(|_| shown.role == Role::Workspace) {
            None => build.show(shown),
            Some(layers) => build.lay(shown, layers),
        }
    }
    if hides(plan, identity) {
        build.steps.push(Step::Directory { at: Step::HIDDEN_DIRECTORY.to_owned(), mode: 0 });
        let (at, content) = (Step::HIDDEN_FILE.to_owned(), CString::default());
        build.steps.push(Step::File { at, content, mode: 0 });
    }
    build.steps.extend(masks(plan, identity, GitConfigs::ByKey));
    build.steps
}

struct Build<'a> {
    steps: Vec<Step>,
    made: BTreeSet<std::path::PathBuf>,
    shown: &'a [Shown],
}

impl Build<'_> {
    fn plain(&mut self, at: &str, mode: u32) {
        self.made.insert(at.into());
        self.steps.push(Step::Directory { at: c(at), mode });
    }

    fn bind(&mut self, source: Source, at: &Path, access: Access) {
        self.steps.push(Step::Bind { source, at: c(at), access });
    }

    /// Makes the parents of a path, except where the path lies in something that is shown: there they must exist, and
    /// nothing is made on the host.
    fn parents(&mut self, path: &GuestPath) {
        let inside_shown =
            |dir: &Path| self.shown.iter().any(|shown| Path::new("/").join(dir).starts_with(shown.guest.as_path()));
        let missing: Vec<_> = relative(path)
            .ancestors()
            .skip(1)
            .filter(|dir| !dir.as_os_str().is_empty() && !self.made.contains(*dir) && !inside_shown(dir))
            .map(Path::to_owned)
            .collect();
        for dir in missing.into_iter().rev() {
            self.steps.push(Step::Directory { at: c(&dir), mode: 0o755 });
            self.made.insert(dir);
        }
    }

    fn directory(&mut self, path: &GuestPath) {
        self.parents(path);
        let at = relative(path);
        if !at.as_os_str().is_empty() && self.made.insert(at.to_owned()) {
            self.steps.push(Step::Directory { at: c(at), mode: 0o755 });
        }
    }

    fn devices(&mut self) {
        for dir in ["dev", "dev/pts", "dev/shm"] {
            self.plain(dir, 0o755);
        }
        for name in DEVICES {
            self.steps.push(Step::Device { from: c(format!("/dev/{name}")), at: c(format!("dev/{name}")) });
        }
        for (target, at) in DEVICE_LINKS {
            self.steps.push(Step::Symlink { target: c(target), at: c(at) });
        }
        self.steps.push(Step::Terminals { at: c("dev/pts") });
    }

    fn etc(&mut self, plan: &Plan) {
        self.made.insert("etc".into());
        self.steps.extend(etc(plan));
    }

    /// The writable places: one file system with one size, at several paths.
    fn private(&mut self, plan: &Plan) {
        self.plain("tmp", 0o1777);
        self.steps.push(Step::Scratch { at: c("tmp") });
        self.steps.push(Step::Scratch { at: c("dev/shm") });
        self.plain("var", 0o755);
        let home = &plan.identity.home;
        if var_tmp_holds_mounts(plan) {
            self.plain("var/tmp", 0o1777);
            self.steps.push(Step::Scratch { at: c("var/tmp") });
        } else {
            self.steps.push(Step::Symlink { target: c("../tmp"), at: c("var/tmp") });
        }
        for dir in ["run", "run/polder"] {
            if !self.made.contains(Path::new(dir)) {
                self.plain(dir, 0o755);
            }
        }
        self.steps.push(Step::File { at: c(ALLOWANCE.trim_start_matches('/')), content: allowance(plan), mode: 0o644 });
        if has_private_home(plan) {
            self.parents(home);
            self.made.insert(relative(home).to_owned());
            self.steps.push(Step::Directory { at: c(relative(home)), mode: 0o700 });
            self.steps.push(Step::Scratch { at: c(relative(home)) });
        }
    }

    fn show(&mut self, shown: &Shown) {
        self.place(shown);
        let source = Source::Resolved { path: c(shown.host.as_os_str()) };
        self.bind(source, relative(&shown.guest), access(shown.access));
    }

    /// Shows a workspace of layers.
    fn lay(&mut self, shown: &Shown, layers: &Layers) {
        self.place(shown);
        self.steps.extend(bring_layers(layers, Brought::Apart));
        self.steps.extend(lay_layers(layers, relative(&shown.guest), shown.access, Brought::Apart));
    }

    /// Makes the place of something that is shown.
    fn place(&mut self, shown: &Shown) {
        let at = relative(&shown.guest);
        let holder = self.shown.iter().any(|outer| outer.guest != shown.guest && shown.guest.is_within(&outer.guest));
        if !holder {
            self.parents(&shown.guest);
            if self.made.insert(at.to_owned()) {
                self.steps.push(if shown.directory {
                    Step::Directory { at: c(at), mode: 0o755 }
                } else {
                    Step::File { at: c(at), content: CString::default(), mode: 0o644 }
                });
            }
        }
    }
}
