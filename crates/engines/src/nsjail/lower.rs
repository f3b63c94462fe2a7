//! From a judged plan to a stage and a configuration. Pure.
//!
//! What lies on the host and belongs to the user is put on the stage: opened without following a link, its owners
//! mapped, its masks mounted. The program then shows the stage's trees as they are, with everything that is mounted in
//! them. What is private is one file system on the stage, so that it has one size. The rest the program shows or makes
//! itself: system directories, devices, terminals, the process table.

use super::text::{Part, Text};
use crate::shimmed::{
    Brought, DEVICE_LINKS, DEVICES, allowance, bring_layers, c, counts_pids, etc, has_private_home, identity, inside,
    lay_layers, var_tmp_holds_mounts,
};
use polder_engine::{Fitted, Layers};
use polder_facts::GuestPath;
use polder_plan::{ALLOWANCE, MaskKind, Plan, Role, Shown, SystemKind};
use polder_policy::NetworkMode;
use polder_sys::{Access, Identity, Inside, Missing, Source, Staging, Step, Terminal, shim_argv};
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What the plan alone decides.
pub(super) struct Lowered {
    pub(super) staging: Staging,
    pub(super) configuration: String,
    pub(super) inside: Inside,
}

/// Where the stage has the private places.
const TMP: &str = "private/tmp";
const SHM: &str = "private/shm";
const VAR_TMP: &str = "private/var-tmp";
const HOME: &str = "private/home";
/// The private file systems of a trial.
const TRIAL_BYTES: u64 = 1 << 20;

pub(super) fn lower(fitted: &Fitted, layers: Option<&Layers>, terminal: Option<Terminal>) -> Lowered {
    let plan = fitted.plan();
    let identity = identity(fitted);
    let staging = Staging { identity, scratch_bytes: plan.files.scratch.0, steps: steps(plan, layers) };
    let inside = inside(fitted, terminal, counts_pids(fitted));
    Lowered { staging, configuration: configuration(plan, identity), inside }
}

/// A stage and a configuration for a command that does nothing, to see that the program works.
pub(super) fn trial_configuration(uid: u32, gid: u32) -> (Staging, String) {
    let identity = if uid == 0 {
        let (base, count) = (polder_sys::facts::RANGE_BASE, polder_sys::facts::RANGE_IDS);
        Identity::Range { uid: 0, gid: 0, base, count }
    } else {
        Identity::Same { uid, gid }
    };
    let mut text = Text::new();
    head(&mut text, identity, "polder", NetworkMode::None);
    for path in ["/usr", "/bin", "/lib", "/lib64"] {
        // Links are followed here: where they lead is shown in their place.
        let parts = [("src", path), ("dst", path)].map(|(name, value)| Part::String(name, OsStr::new(value)));
        let words = [Part::Word("is_bind", "true"), Part::Word("mandatory", "false")];
        text.message("mount", &[parts.as_slice(), words.as_slice()].concat());
    }
    process_table(&mut text, identity);
    (Staging { identity, scratch_bytes: TRIAL_BYTES, steps: Vec::new() }, text.finish())
}

/// The steps that fill the stage.
fn steps(plan: &Plan, layers: Option<&Layers>) -> Vec<Step> {
    let directory = |at: &str, mode| Step::Directory { at: c(at), mode };
    let mut steps = etc(plan);
    // What covers hidden paths; `/run` inside, too, which is otherwise empty.
    steps.extend([directory("run", 0o755), directory("run/polder", 0o755)]);
    steps.push(Step::File { at: c(ALLOWANCE.trim_start_matches('/')), content: allowance(plan), mode: 0o644 });
    steps.push(Step::Directory { at: Step::HIDDEN_DIRECTORY.to_owned(), mode: 0 });
    steps.push(Step::File { at: Step::HIDDEN_FILE.to_owned(), content: CString::default(), mode: 0 });
    steps.push(directory("private", 0o755));
    steps.extend([directory(TMP, 0o1777), directory(SHM, 0o1777), directory(VAR_TMP, 0o1777), directory(HOME, 0o700)]);
    steps.push(directory("shown", 0o755));
    let place = Places { shown: &plan.files.shown };
    for (index, shown) in plan.files.shown.iter().enumerate() {
        let at = place.of(&shown.guest);
        if place.holder(&shown.guest) == Some(index) {
            steps.push(if shown.directory {
                Step::Directory { at: c(&at), mode: 0o755 }
            } else {
                Step::File { at: c(&at), content: CString::default(), mode: 0o644 }
            });
        }
        if let Some(layers) = layers.filter(|_| shown.role == Role::Workspace) {
            steps.extend(bring_layers(layers, Brought::Together));
            steps.extend(lay_layers(layers, &at, shown.access, Brought::Together));
            continue;
        }
        let source = Source::Resolved { path: c(shown.host.as_os_str()) };
        let access = match shown.access {
            polder_policy::Access::ReadOnly => Access::ReadOnly,
            polder_policy::Access::ReadWrite => Access::ReadWrite,
        };
        steps.push(Step::Bind { source, at: c(&at), access });
    }
    // Parents before children: a mask below a pin has to be mounted on the pinned mount.
    let mut masks: Vec<(&GuestPath, Option<MaskKind>)> = plan.files.pinned.iter().map(|pin| (pin, None)).collect();
    masks.extend(plan.files.masks.iter().map(|mask| (&mask.path, Some(mask.kind))));
    masks.sort_by_key(|(path, _)| path.as_path().components().count());
    for (path, kind) in masks {
        let at = c(place.of(path));
        steps.push(match kind {
            None => Step::Pin { at },
            Some(MaskKind::Protect) => Step::Protect { at },
            Some(MaskKind::Hide) => Step::Hide { at, missing: Missing::Fail },
        });
    }
    steps
}

/// Where guest paths are on the stage.
struct Places<'a> {
    shown: &'a [Shown],
}

impl Places<'_> {
    /// The outermost of the shown trees that holds a path: what lies in it is mounted in it.
    fn holder(&self, path: &GuestPath) -> Option<usize> {
        // Parents come before children.
        self.shown.iter().position(|shown| path.is_within(&shown.guest))
    }

    fn of(&self, path: &GuestPath) -> PathBuf {
        let holder = self.holder(path).expect("invariant: a plan shows, masks and pins paths of shown trees only");
        let tree = Path::new("shown").join(holder.to_string());
        match path.as_path().strip_prefix(self.shown[holder].guest.as_path()) {
            Ok(below) if !below.as_os_str().is_empty() => tree.join(below),
            _ => tree,
        }
    }
}

fn configuration(plan: &Plan, identity: Identity) -> String {
    let mut text = Text::new();
    head(&mut text, identity, plan.identity.hostname, plan.network.value.mode);
    for entry in &plan.files.system {
        match &entry.kind {
            SystemKind::Directory => show(&mut text, entry.path.as_os_str(), &entry.path, Access::ReadOnly, true),
            SystemKind::Link(target) => link(&mut text, target, entry.path.as_os_str()),
        }
    }
    show(&mut text, &staged("etc"), &guest("/etc"), Access::ReadOnly, true);
    show(&mut text, &staged("run"), &guest("/run"), Access::ReadOnly, true);
    for name in DEVICES {
        let path = OsString::from(format!("/dev/{name}"));
        // Read-only is the node, not the device; a mount of the stage's host cannot be made writable again.
        let words = [("is_bind", "true"), ("is_dir", "false"), ("nosuid", "true"), ("noexec", "true")];
        mount(&mut text, &[("src", &path), ("dst", &path)], &words);
    }
    for (target, at) in DEVICE_LINKS {
        link(&mut text, target, format!("/{at}"));
    }
    let words = [("rw", "true"), ("nosuid", "true"), ("noexec", "true")];
    let terminals = [("dst", "/dev/pts"), ("fstype", "devpts"), ("options", "newinstance,ptmxmode=0666,mode=0620")];
    mount(&mut text, &terminals.map(|(name, value)| (name, OsStr::new(value))), &words);
    process_table(&mut text, identity);
    if !matches!(identity, Identity::Range { .. }) {
        // Without a range, the caller's keys would be listed by name. Not every kernel has the list.
        let from = staged(OsStr::from_bytes(Step::HIDDEN_FILE.to_bytes()));
        let words = [("is_bind", "true"), ("is_dir", "false"), ("mandatory", "false")];
        mount(&mut text, &[("src", &from), ("dst", OsStr::new("/proc/keys"))], &words);
    }
    private(&mut text, plan);
    let place = Places { shown: &plan.files.shown };
    for (index, shown) in plan.files.shown.iter().enumerate() {
        if place.holder(&shown.guest) == Some(index) {
            let access = match shown.access {
                polder_policy::Access::ReadOnly => Access::ReadOnly,
                polder_policy::Access::ReadWrite => Access::ReadWrite,
            };
            show(&mut text, &staged(place.of(&shown.guest)), &shown.guest, access, shown.directory);
        }
    }
    text.finish()
}

/// Everything but the mounts. Every setting whose default limits or grants something is said.
fn head(text: &mut Text, identity: Identity, hostname: &str, network: NetworkMode) {
    text.string("name", "polder");
    text.word("mode", "ONCE");
    text.string("hostname", hostname);
    text.string("cwd", "/");
    text.word("log_level", "ERROR");
    // Time, memory, files and processes are bounded by the shim and by polder; the defaults here would end a build.
    text.word("time_limit", 0);
    text.word("disable_rl", true);
    text.word("nice_level", 0);
    text.word("keep_env", false);
    text.word("keep_caps", false);
    // The shim locks its securebits and bounds its user namespace, and then gives these up too.
    text.string("cap", "CAP_SETPCAP");
    text.string("cap", "CAP_SYS_RESOURCE");
    text.word("disable_no_new_privs", false);
    text.word("skip_setsid", false);
    text.word("pass_fd", polder_sys::FIRST_ADDED - 2);
    text.word("pass_fd", polder_sys::FIRST_ADDED - 1);
    // Restricted never becomes a `Fitted` without a broker; if it did, nothing must be open.
    text.word("clone_newnet", network != NetworkMode::Full);
    text.word("iface_no_lo", false);
    for namespace in ["clone_newuser", "clone_newns", "clone_newpid", "clone_newipc", "clone_newuts", "clone_newcgroup"]
    {
        text.word(namespace, true);
    }
    let (uid, gid) = match identity {
        Identity::Same { uid, gid } | Identity::Range { uid, gid, .. } => (uid, gid),
        Identity::HostRoot => (0, 0),
    };
    for (field, id) in [("uidmap", uid), ("gidmap", gid)] {
        let id = OsString::from(id.to_string());
        let parts = [Part::String("inside_id", &id), Part::String("outside_id", &id), Part::Word("count", "1")];
        text.message(field, &parts);
    }
    text.word("mount_proc", false);
    let [file, arguments @ ..] = shim_argv().map(|word| word.into_string().unwrap_or_default());
    let mut parts = vec![Part::String("path", OsStr::new(&file))];
    parts.extend(arguments.iter().map(|word| Part::String("arg", OsStr::new(word))));
    text.message("exec_bin", &parts);
}

/// The process table, without the shim: that one is not dumpable, so with this option the command does not see it.
fn process_table(text: &mut Text, identity: Identity) {
    // The host's uid 0 may write the kernel's settings without any capability.
    let writable = if identity == Identity::HostRoot { "false" } else { "true" };
    let words = [("rw", writable), ("nosuid", "true"), ("nodev", "true"), ("noexec", "true")];
    let parts = [("dst", "/proc"), ("fstype", "proc"), ("options", "hidepid=ptraceable")];
    mount(text, &parts.map(|(name, value)| (name, OsStr::new(value))), &words);
}

/// The writable places: one file system with one size, at several paths.
fn private(text: &mut Text, plan: &Plan) {
    let home = &plan.identity.home;
    let mut writable = |from: &str, at: &GuestPath| show(text, &staged(from), at, Access::ReadWrite, true);
    writable(SHM, &guest("/dev/shm"));
    writable(TMP, &guest("/tmp"));
    if var_tmp_holds_mounts(plan) {
        writable(VAR_TMP, &guest("/var/tmp"));
    } else {
        link(text, "../tmp", "/var/tmp");
    }
    if has_private_home(plan) {
        show(text, &staged(HOME), home, Access::ReadWrite, true);
    }
}

fn guest(path: &str) -> GuestPath {
    GuestPath::new(path).expect("invariant: a literal absolute path")
}

/// A path of the stage, as the program sees it.
fn staged(path: impl AsRef<Path>) -> OsString {
    let place = Staging::PLACE.to_str().expect("invariant: a literal of ASCII");
    Path::new(place).join(path).into_os_string()
}

fn show(text: &mut Text, from: &OsStr, at: &GuestPath, access: Access, directory: bool) {
    let word = |truth| if truth { "true" } else { "false" };
    let words = [
        ("is_bind", "true"),
        ("rw", word(access == Access::ReadWrite)),
        ("is_dir", word(directory)),
        ("nosuid", "true"),
        ("nodev", "true"),
    ];
    mount(text, &[("src", from), ("dst", at.as_os_str())], &words);
}

fn link(text: &mut Text, target: impl AsRef<OsStr>, at: impl AsRef<OsStr>) {
    mount(text, &[("src", target.as_ref()), ("dst", at.as_ref())], &[("is_symlink", "true")]);
}

fn mount(text: &mut Text, strings: &[(&'static str, &OsStr)], words: &[(&'static str, &'static str)]) {
    let strings = strings.iter().map(|(field, value)| Part::String(field, value));
    let words = words.iter().map(|(field, value)| Part::Word(field, value));
    text.message("mount", &strings.chain(words).collect::<Vec<_>>());
}

#[cfg(test)]
mod tests;
