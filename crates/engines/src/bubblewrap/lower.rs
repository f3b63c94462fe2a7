//! From a judged plan to an argument list, and to what the shim finishes. Pure.
//!
//! The order is what keeps the host untouched: everything that makes a file or a directory comes before the first thing
//! that is shown, because afterwards the same path may lead to the host.

use crate::shimmed::{
    Brought, DEVICE_LINKS, DEVICES, GitConfigs, allowance, c, counts_pids, has_private_home, hides, identity, inside,
    lay_layers, layer_places, masks, relative, var_tmp_holds_mounts,
};
use polder_engine::{Fitted, Layers};
use polder_facts::{HostPath, SystemPath};
use polder_plan::{ALLOWANCE, Configuration, Plan, Role, Shown, SystemEntry, SystemKind};
use polder_policy::{Access, NetworkMode};
use polder_sys::{Identity, Inside, Outer, OuterShown, Step, Terminal};
use std::collections::BTreeSet;
use std::ffi::{CString, OsStr};
use std::path::{Path, PathBuf};

/// Everything that the plan alone decides.
pub(super) struct Lowered {
    /// What bwrap is told.
    pub(super) arguments: Vec<Argument>,
    /// What stands around bwrap when root calls.
    pub(super) outer: Option<Outer>,
    /// Namespaces of which the shim must not find the caller's.
    pub(super) apart: Vec<&'static str>,
    /// Layers, and where the shim must find them before it makes one tree of them.
    pub(super) layered: Vec<(CString, CString)>,
    /// What the shim does on the root that it finds.
    pub(super) laid: Vec<Step>,
    /// Host paths, and where the shim must find them: as steps want it, without the leading slash.
    pub(super) shown: Vec<(CString, CString)>,
    /// What the shim does last: masks and pins.
    pub(super) masks: Vec<Step>,
    /// The size of the private file systems together.
    pub(super) scratch_bytes: u64,
    /// The shim's half.
    pub(super) inside: Inside,
}

/// One argument, or a file whose content bwrap reads from a descriptor.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Argument {
    /// A word.
    Word(CString),
    /// A file with this content.
    File { content: CString, at: CString, mode: u32 },
    /// A copy of a small file of the host, if it is there and readable.
    Copy { from: CString, at: CString },
}

/// Where what is shown below something else waits for the shim to put it in its place.
const WAITING: &str = "/run/polder/shown";

/// What the shim needs: to lay mounts in the new root, to forbid further user namespaces, to drop the bounding set. It
/// gives all of it up before the command starts.
const CAPABILITIES: [&str; 3] = ["CAP_SETPCAP", "CAP_SYS_ADMIN", "CAP_SYS_RESOURCE"];

/// What it needs besides to lay one layer over another: the kernel copies files from one to the other, with their owners
/// and bits, by the rights of whoever laid them.
const LAYING: [&str; 4] = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID"];

pub(super) fn lower(fitted: &Fitted, layers: Option<&Layers>, terminal: Option<Terminal>) -> Lowered {
    let plan = fitted.plan();
    let identity = identity(fitted);
    let net = match plan.network.value.mode {
        NetworkMode::Full => Net::Host,
        // Restricted never becomes a `Fitted` without a broker; if it did, nothing must be open.
        NetworkMode::None | NetworkMode::Restricted => Net::Own,
    };
    let mut list = List::new(net, plan.identity.hostname);
    for capability in LAYING.iter().filter(|_| layers.is_some()) {
        list.words(["--cap-add", capability]);
    }
    list.skeleton();
    list.system(&plan.files.system);
    list.devices();
    list.etc(plan);
    list.private(plan, hides(plan, identity));
    let is_layered = |shown: &Shown| layers.is_some() && shown.role == Role::Workspace;
    let outer = match identity {
        Identity::Same { .. } | Identity::HostRoot => None,
        Identity::Range { uid, gid, base, count } => {
            let layers = layers.into_iter().flat_map(layer_places).map(|(path, _, access)| OuterShown {
                path: c(path.as_os_str()),
                access,
                directory: true,
            });
            let shown = plan.files.shown.iter().map(|shown| match is_layered(shown) {
                false => outer_shown(shown),
                // Only its layers are shown.
                true => OuterShown { access: polder_sys::Access::ReadOnly, ..outer_shown(shown) },
            });
            let shown = shown.chain(layers).collect();
            Some(Outer { uid, gid, base, count, shown })
        }
    };
    let source = |index: usize, host: &HostPath| {
        if outer.is_some() { Outer::place(index) } else { c(host.as_os_str()) }
    };
    for shown in plan.files.shown.iter().filter(|shown| !must_wait(plan, shown)) {
        list.parent(shown.guest.as_path());
        if is_layered(shown) {
            list.directory(shown.guest.as_os_str(), 0o755);
        }
    }
    let mut layered = Vec::new();
    for (index, (path, place, access)) in layers.into_iter().flat_map(layer_places).enumerate() {
        let access = match access {
            polder_sys::Access::ReadOnly => Access::ReadOnly,
            polder_sys::Access::ReadWrite => Access::ReadWrite,
        };
        list.show(source(plan.files.shown.len() + index, path), c(format!("/{place}")), access);
        layered.push((c(path.as_os_str()), c(place)));
    }
    let mut places = Vec::new();
    for (index, shown) in plan.files.shown.iter().enumerate() {
        if let Some(layers) = layers.filter(|_| shown.role == Role::Workspace) {
            places.extend(lay_layers(layers, relative(&shown.guest), shown.access, Brought::Apart));
            continue;
        }
        let source = source(index, &shown.host);
        if must_wait(plan, shown) {
            let waiting = format!("{WAITING}/{index}");
            list.show(source, c(&waiting), shown.access);
            places.push(Step::Place { from: c(waiting.trim_start_matches('/')), at: c(relative(&shown.guest)) });
        } else {
            list.show(source, c(shown.guest.as_os_str()), shown.access);
        }
    }
    let mut laid = scratch(plan);
    laid.extend(places);
    let at = |shown: &Shown| (c(shown.host.as_os_str()), c(relative(&shown.guest)));
    Lowered {
        arguments: list.arguments,
        outer,
        apart: net.apart(),
        layered,
        laid,
        shown: plan.files.shown.iter().filter(|shown| !is_layered(shown)).map(at).collect(),
        masks: masks(plan, identity, GitConfigs::ByKey),
        scratch_bytes: plan.files.scratch.0,
        inside: inside(fitted, terminal, counts_pids(fitted)),
    }
}

/// The least that shows whether bwrap and the shim work here: the system's programs, and nothing else.
pub(super) fn lower_trial(system: &[SystemPath]) -> (Vec<Argument>, Vec<&'static str>, Vec<Step>) {
    let mut list = List::new(Net::Own, "polder");
    list.skeleton();
    for entry in system {
        match &entry.entry {
            polder_facts::Entry::Directory => list.read_only(entry.path.as_os_str()),
            polder_facts::Entry::Symlink(target) => list.symlink(target.as_os_str(), entry.path.as_os_str()),
            _ => {}
        }
    }
    list.devices();
    (list.arguments, Net::Own.apart(), vec![Step::Terminals { at: c("dev/pts") }])
}

/// Whether the place of something shown lies below something else that is shown, or behind a link: bwrap would make it,
/// wherever that leads. The shim makes nothing and follows nothing.
fn must_wait(plan: &Plan, shown: &Shown) -> bool {
    let below = |outer: &Shown| outer.guest != shown.guest && shown.guest.is_within(&outer.guest);
    let link = |entry: &SystemEntry| matches!(entry.kind, SystemKind::Link(_)) && shown.guest.is_within(&entry.path);
    plan.files.shown.iter().any(below) || plan.files.system.iter().any(link)
}

fn outer_shown(shown: &Shown) -> OuterShown {
    let access = match shown.access {
        Access::ReadOnly => polder_sys::Access::ReadOnly,
        Access::ReadWrite => polder_sys::Access::ReadWrite,
    };
    OuterShown { path: c(shown.host.as_os_str()), access, directory: shown.directory }
}

/// The writable places: one file system with one size, at several paths. bwrap has made the directories.
fn scratch(plan: &Plan) -> Vec<Step> {
    let mut steps =
        vec![Step::Terminals { at: c("dev/pts") }, Step::Scratch { at: c("tmp") }, Step::Scratch { at: c("dev/shm") }];
    if var_tmp_holds_mounts(plan) {
        steps.push(Step::Scratch { at: c("var/tmp") });
    }
    if has_private_home(plan) {
        steps.push(Step::Scratch { at: c(relative(&plan.identity.home)) });
    }
    steps
}

/// Whose network the command sees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Net {
    Own,
    Host,
}

impl Net {
    fn apart(self) -> Vec<&'static str> {
        let mut kinds = vec!["user", "mnt", "pid", "ipc", "uts", "cgroup"];
        if self == Self::Own {
            kinds.push("net");
        }
        kinds
    }
}

/// An argument list in the making.
struct List {
    arguments: Vec<Argument>,
    made: BTreeSet<PathBuf>,
}

impl List {
    fn new(net: Net, hostname: &str) -> Self {
        let mut list = Self { arguments: Vec::new(), made: BTreeSet::new() };
        for kind in ["user", "pid", "ipc", "uts", "cgroup"] {
            list.word(format!("--unshare-{kind}"));
        }
        if net == Net::Own {
            list.word("--unshare-net");
        }
        list.words(["--hostname", hostname, "--new-session", "--as-pid-1", "--chdir", "/"]);
        // Without `--die-with-parent`: bwrap's first process inside waits for the other one to map its
        // ids, and sleeps for ever where that one is killed before (bubblewrap 0.8.0, `child_wait_fd`).
        // The end of the control socket ends the shim, and that ends bwrap.
        // Started by root, bwrap would keep every capability for what it starts.
        list.words(["--cap-drop", "ALL"]);
        for capability in CAPABILITIES {
            list.words(["--cap-add", capability]);
        }
        list
    }

    fn word(&mut self, word: impl AsRef<OsStr>) {
        self.arguments.push(Argument::Word(c(word)));
    }

    fn words<const N: usize>(&mut self, words: [&str; N]) {
        words.into_iter().for_each(|word| self.word(word));
    }

    fn directory(&mut self, at: impl AsRef<OsStr>, mode: u32) {
        if !self.made.insert(PathBuf::from(at.as_ref())) {
            return;
        }
        self.words(["--perms", &format!("{mode:04o}"), "--dir"]);
        self.word(at);
    }

    /// The directory above a place; bwrap would make it, too, with other permissions.
    fn parent(&mut self, place: &Path) {
        if let Some(parent) = place.parent().filter(|parent| *parent != Path::new("/")) {
            self.directory(parent, 0o755);
        }
    }

    fn symlink(&mut self, target: impl AsRef<OsStr>, at: impl AsRef<OsStr>) {
        self.word("--symlink");
        self.word(target);
        self.word(at);
    }

    fn read_only(&mut self, path: &OsStr) {
        self.word("--ro-bind");
        self.word(path);
        self.word(path);
    }

    fn show(&mut self, from: CString, at: CString, access: Access) {
        self.word(match access {
            Access::ReadOnly => "--ro-bind",
            Access::ReadWrite => "--bind",
        });
        self.arguments.extend([Argument::Word(from), Argument::Word(at)]);
    }

    /// The directories in which something is made; bwrap would make them for its own user alone.
    fn skeleton(&mut self) {
        for place in ["/dev", "/etc", "/run", "/var"] {
            self.directory(place, 0o755);
        }
    }

    fn system(&mut self, system: &[SystemEntry]) {
        for entry in system {
            match &entry.kind {
                SystemKind::Directory => self.read_only(entry.path.as_os_str()),
                SystemKind::Link(target) => self.symlink(target, entry.path.as_os_str()),
            }
        }
    }

    /// `/proc` and a `/dev` of few nodes. Not `--dev`, whose terminals need a second user namespace: in that, the shim
    /// could lay no mounts.
    fn devices(&mut self) {
        self.words(["--proc", "/proc"]);
        for name in DEVICES {
            let path = format!("/dev/{name}");
            self.words(["--dev-bind", &path, &path]);
        }
        for (target, at) in DEVICE_LINKS {
            self.symlink(target, format!("/{at}"));
        }
        for place in ["/dev/pts", "/dev/shm"] {
            self.directory(place, 0o755);
        }
    }

    fn etc(&mut self, plan: &Plan) {
        for entry in &plan.files.configuration {
            match entry {
                Configuration::File(name) => self.copy(&format!("/etc/{name}")),
                Configuration::Directory(name) => {
                    let path = format!("/etc/{name}");
                    self.words(["--ro-bind-try", &path, &path]);
                }
            }
        }
        for written in &plan.files.written {
            let (content, at) = (c(&written.content), c(written.path.as_os_str()));
            self.arguments.push(Argument::File { content, at, mode: 0o644 });
        }
        if plan.network.value.mode == NetworkMode::Full {
            self.copy("/etc/resolv.conf");
        }
        self.symlink("/proc/self/mounts", "/etc/mtab");
        self.symlink("../usr/lib/os-release", "/etc/os-release");
    }

    fn copy(&mut self, path: &str) {
        self.arguments.push(Argument::Copy { from: c(path), at: c(path) });
    }

    /// The directories of the writable places, and what masks need.
    fn private(&mut self, plan: &Plan, hides: bool) {
        self.directory("/tmp", 0o1777);
        if var_tmp_holds_mounts(plan) {
            self.directory("/var/tmp", 0o1777);
        } else {
            self.symlink("../tmp", "/var/tmp");
        }
        self.directory("/run/polder", 0o755);
        self.arguments.push(Argument::File { content: allowance(plan), at: c(ALLOWANCE), mode: 0o644 });
        if hides {
            let below_root = |path: &std::ffi::CStr| Path::new("/").join(OsStr::new(&*path.to_string_lossy()));
            self.directory(below_root(Step::HIDDEN_DIRECTORY), 0);
            let (content, at) = (CString::default(), c(below_root(Step::HIDDEN_FILE)));
            self.arguments.push(Argument::File { content, at, mode: 0 });
        }
        if has_private_home(plan) {
            self.parent(plan.identity.home.as_path());
            self.directory(plan.identity.home.as_os_str(), 0o700);
        }
    }
}

#[cfg(test)]
mod tests;
