//! From a judged plan to the program's arguments and what the shim does. Pure.

use super::words::{Unspeakable, option};
use crate::shimmed::{c, counts_pids, inside};
use polder_engine::Fitted;
use polder_facts::{GuestPath, HostFacts, Origin};
use polder_plan::{MaskKind, Plan, Shown};
use polder_policy::NetworkMode;
use polder_sys::{Access, Hold, Inside, LandlockRule, LandlockSpec, Missing, Step, Terminal, shim_argv};
use std::ffi::{CString, OsStr, OsString};
use std::path::Path;

/// What the plan alone decides.
#[derive(Debug)]
pub(super) struct Lowered {
    pub(super) arguments: Vec<CString>,
    pub(super) inside: Inside,
}

/// As many as the program takes, with its own name.
pub(super) const ARGUMENTS_MAX: usize = 127;

/// Said for every run. No profile is read, so nothing of the system's or the user's profiles is inherited.
const ALWAYS: [&str; 22] = [
    "--noprofile",
    "--quiet",
    // The control socket and the shim's own file.
    "--keep-fd=3,4",
    "--deterministic-exit-code",
    "--deterministic-shutdown",
    "--caps.drop=all",
    "--nonewprivs",
    "--nogroups",
    "--ipc-namespace",
    "--machine-id",
    "--dbus-user=none",
    "--dbus-system=none",
    "--private-dev",
    "--no3d",
    "--nodvd",
    "--noinput",
    "--nosound",
    "--notv",
    "--nou2f",
    "--novideo",
    // Shows this of `/run` and nothing else.
    "--whitelist=/run/firejail",
    // What `/etc/resolv.conf` may lead to.
    "--whitelist=/run/systemd/resolve",
];

const RLIMIT_NPROC: u32 = 6;

/// The home directory inside: in the private `/tmp`, because the host's own is where it is.
const HOME: &str = "/tmp/.polder-home";

/// What programs need from `/etc`. Never shadow, ssh, sudoers, keys or anything else that is not named here.
const ETC: [&str; 33] = [
    "alternatives",
    "ca-certificates",
    "chromium.d",
    "crypto-policies",
    "fonts",
    "gai.conf",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-25-openjdk",
    "ld.so.cache",
    "localtime",
    "maven",
    "mtab",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki",
    "protocols",
    "python3.10",
    "python3.11",
    "python3.12",
    "python3.13",
    "python3.14",
    "resolv.conf",
    "services",
    "ssl",
    "timezone",
];

pub(super) fn lower(fitted: &Fitted, terminal: Option<Terminal>) -> Result<Lowered, Unspeakable> {
    let plan = fitted.plan();
    let mut inside = inside(fitted, terminal, counts_pids(fitted));
    inside.made = made(plan);
    if inside.landlock.is_some() {
        let landlock = landlock(plan, fitted.host());
        if let Some(observe) = &mut inside.observe {
            observe.ruled = landlock.rules.iter().map(|rule| rule.path.clone()).collect();
        }
        inside.landlock = Some(landlock);
    }
    inside.command.env.retain(|variable| !variable.as_bytes().starts_with(b"HOME="));
    let mut variable = OsString::from("HOME=");
    variable.push(home(plan));
    inside.command.env.push(c(variable));
    if plan.limits.pids.as_ref().is_some_and(|limit| limit.origin != Origin::BuiltIn) {
        // Without a user namespace it counts what the user runs elsewhere; the cgroup counts the run.
        inside.rlimits.retain(|limit| limit.resource != RLIMIT_NPROC);
    }
    Ok(Lowered { arguments: arguments(plan)?, inside })
}

/// The home directory inside. One that is shown, or lies in something shown, is not private.
fn home(plan: &Plan) -> &Path {
    let own = plan.identity.home.as_path();
    if plan.files.shown.iter().any(|shown| own.starts_with(shown.host.as_path())) { own } else { Path::new(HOME) }
}

/// The arguments for a command that does nothing, to see that the program works.
pub(super) fn trial_arguments() -> Vec<CString> {
    let mut words: Vec<CString> = ALWAYS.map(c).to_vec();
    words.extend([c("--net=none"), c("--private-tmp")]);
    words.extend(command());
    words
}

pub(super) fn arguments(plan: &Plan) -> Result<Vec<CString>, Unspeakable> {
    let mut words: Vec<CString> = ALWAYS.map(c).to_vec();
    // Restricted never becomes a `Fitted` without a broker; if it did, nothing must be open.
    if plan.network.value.mode != NetworkMode::Full {
        words.push(c("--net=none"));
    }
    let shown = &plan.files.shown;
    if shown.iter().any(|shown| is_below(shown, "/tmp")) {
        // A private one with these in it.
        for shown in shown.iter().filter(|shown| is_below(shown, "/tmp")) {
            words.push(option("whitelist", shown.host.as_os_str())?);
        }
    } else {
        words.push(c("--private-tmp"));
    }
    if keeps_var_tmp(plan) {
        words.push(c("--keep-var-tmp"));
    }
    // The program takes what is said later for the better: parents come first.
    if !shown.iter().any(|shown| shown.host.as_path() == plan.identity.home.as_path()) {
        words.push(option("read-only", plan.identity.home.as_os_str())?);
    }
    for shown in shown {
        words.extend(hold(access(shown), shown.host.as_os_str())?);
    }
    for (path, kind) in masks(plan) {
        words.extend(match kind {
            None => hold(Hold::ReadWrite, path.as_os_str())?,
            Some(MaskKind::Protect) => hold(Hold::ReadOnly, path.as_os_str())?,
            Some(MaskKind::Hide) => hold(Hold::Hidden, path.as_os_str())?,
        });
    }
    words.extend(command());
    Ok(words)
}

/// How the program starts the shim: by a shell, which is to be the shim and not to wait for it, because it would hold
/// the control socket.
fn command() -> Vec<CString> {
    [c("--"), c("exec")].into_iter().chain(shim_argv()).collect()
}

/// The options that mount a path on itself or cover it.
fn hold(hold: Hold, path: &OsStr) -> Result<Vec<CString>, Unspeakable> {
    match hold {
        Hold::ReadOnly => Ok(vec![option("read-only", path)?]),
        // The first makes it a mount, which cannot be renamed; the second opens it again.
        Hold::ReadWrite => Ok(vec![option("read-only", path)?, option("read-write", path)?]),
        Hold::Hidden => Ok(vec![option("blacklist", path)?]),
    }
}

fn access(shown: &Shown) -> Hold {
    match shown.access {
        polder_policy::Access::ReadOnly => Hold::ReadOnly,
        polder_policy::Access::ReadWrite => Hold::ReadWrite,
    }
}

fn is_below(shown: &Shown, place: &str) -> bool {
    shown.host.as_path().starts_with(place)
}

/// Whether the host's `/var/tmp` has to stay, because something shown lies in it.
fn keeps_var_tmp(plan: &Plan) -> bool {
    plan.files.shown.iter().any(|shown| is_below(shown, "/var/tmp"))
}

/// Pins and masks, parents before children.
fn masks(plan: &Plan) -> Vec<(&GuestPath, Option<MaskKind>)> {
    let mut masks: Vec<(&GuestPath, Option<MaskKind>)> = plan.files.pinned.iter().map(|pin| (pin, None)).collect();
    masks.extend(plan.files.masks.iter().map(|mask| (&mask.path, Some(mask.kind))));
    masks.sort_by_key(|(path, _)| path.as_path().components().count());
    masks
}

/// A path as steps want it: without the leading slash.
fn relative(path: &Path) -> CString {
    c(path.strip_prefix("/").unwrap_or(path))
}

/// What the shim makes, and what it looks for: the program warns and goes on where it cannot do what it was told.
fn made(plan: &Plan) -> Vec<Step> {
    let held = |path: &Path, hold| Step::Held { at: relative(path), hold };
    let mut steps = Vec::new();
    if home(plan) == Path::new(HOME) {
        steps.extend(private_home(plan));
    }
    steps.extend(plan.files.shown.iter().map(|shown| held(shown.host.as_path(), access(shown))));
    steps.extend(masks(plan).into_iter().map(|(path, kind)| {
        let hold = match kind {
            None => Hold::ReadWrite,
            Some(MaskKind::Protect) => Hold::ReadOnly,
            Some(MaskKind::Hide) => Hold::Hidden,
        };
        held(path.as_path(), hold)
    }));
    steps
}

fn private_home(plan: &Plan) -> Vec<Step> {
    let mut steps = vec![Step::Directory { at: relative(Path::new(HOME)), mode: 0o700 }];
    for shown in &plan.files.shown {
        // What is bound from the host's home directory is found in this one too.
        if let Ok(below) = shown.host.as_path().strip_prefix(plan.identity.home.as_path()) {
            let at = Path::new(HOME).join(below);
            let parents: Vec<&Path> = at.ancestors().skip(1).take_while(|dir| *dir != Path::new(HOME)).collect();
            steps.extend(parents.iter().rev().map(|dir| Step::Directory { at: relative(dir), mode: 0o700 }));
            steps.push(Step::Symlink { target: c(shown.host.as_os_str()), at: relative(&at) });
        }
    }
    let own_settings = plan.identity.home.as_path().join(".gitconfig");
    if !plan.files.shown.iter().any(|shown| shown.host.as_path() == own_settings) && is_plain(&plan.identity.name) {
        // An author, whom git finds in the password file of a root that is made for the command.
        let (name, at) = (&plan.identity.name, Path::new(HOME).join(".gitconfig"));
        let content = format!("[user]\n\tname = {name}\n\temail = {name}@{}.localdomain\n", plan.identity.hostname);
        steps.push(Step::File { at: relative(&at), content: c(content), mode: 0o600 });
    }
    steps
}

/// Whether a login name means nothing but itself in a file of settings.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || "._-".contains(char))
}

/// What can be opened at all: this is what hides the rest of the host.
fn landlock(plan: &Plan, host: &HostFacts) -> LandlockSpec {
    let rule = |path: &OsStr, access, missing| LandlockRule { path: c(path), access, missing };
    let mut rules: Vec<LandlockRule> = plan
        .files
        .system
        .iter()
        .map(|entry| rule(entry.path.as_os_str(), Access::ReadOnly, Missing::Skip))
        .chain(ETC.iter().map(|name| rule(format!("/etc/{name}").as_ref(), Access::ReadOnly, Missing::Skip)))
        .collect();
    // The private ones, and the process table, where programs name their threads; the kernel guards what is others'.
    for place in ["/dev", "/proc", "/tmp"] {
        rules.push(rule(OsStr::new(place), Access::ReadWrite, Missing::Fail));
    }
    if !keeps_var_tmp(plan) {
        rules.push(rule(OsStr::new("/var/tmp"), Access::ReadWrite, Missing::Skip));
    }
    for shown in &plan.files.shown {
        let access = match shown.access {
            polder_policy::Access::ReadOnly => Access::ReadOnly,
            polder_policy::Access::ReadWrite => Access::ReadWrite,
        };
        rules.push(rule(shown.host.as_os_str(), access, Missing::Fail));
    }
    LandlockSpec { abi: host.landlock_abi, rules }
}

#[cfg(test)]
mod tests;
