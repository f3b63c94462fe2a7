//! From something that failed inside to a violation, or to nothing.
//!
//! A violation is what failed inside and what the caller could have done outside. So what exists nowhere, what the user may
//! not read anyway and what every program looks for in passing are none, and no text is ever guessed from.

use polder_facts::{Action, Grant, Violation};
use polder_plan::{
    Denied, LENT, MOUNTS, Plan, Standing, Way, Wish, World, is_never_offered, is_optional_write, is_probing, risk,
};
use polder_sys::outside::{Deed, interpreter, is_socket, may, may_change_names};
use polder_sys::{Denial, DenialKind, FoundAtEnd, syscalls};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The kernel's number for what is not there.
const ENOENT: u32 = 2;
/// The kernel's number for a path that leads through a file.
const ENOTDIR: u32 = 20;
/// The kernel's number for a call that a rule of Landlock refused.
const EACCES: u32 = 13;
/// The kernel's number for a mount that cannot be written.
const EROFS: u32 = 30;

/// Files of the kernel that nobody opens in passing.
const KERNEL: [&str; 9] = [
    "/proc/kcore",
    "/proc/kallsyms",
    "/proc/keys",
    "/proc/sysrq-trigger",
    "/proc/kmsg",
    "/sys/kernel/debug",
    "/sys/kernel/security",
    "/sys/firmware",
    "/dev/mem",
];

/// What a denial is for the user; `None` if it is nothing that the sandbox did.
pub(crate) fn violation(plan: &Plan, denial: &Denial) -> Option<Violation> {
    let target = denial.target.as_deref().map(OsStr::from_bytes).map(Path::new);
    let at = |wish, minimal| at_path(plan, target?, wish, denial.detail, minimal);
    let (action, found) = match denial.kind {
        DenialKind::Read => (Action::FileRead, at(Wish::Read, readable)?),
        DenialKind::Execute if target?.is_dir() => (Action::FileRead, at(Wish::Read, readable)?),
        DenialKind::Execute => (Action::Exec, at(Wish::Read, executable)?),
        DenialKind::Write => (Action::FileWrite, at(Wish::Write, writable)?),
        DenialKind::Create => (Action::FileWrite, at(Wish::Write, creatable)?),
        DenialKind::Name => (Action::FileWrite, at(Wish::Write, namable)?),
        DenialKind::Remove => (Action::FileWrite, at(Wish::Write, removable)?),
        DenialKind::UnixSocket => (Action::Network, at(Wish::Read, connectable)?),
        DenialKind::Address | DenialKind::Lookup => (Action::Network, on_network(plan, target?)),
        DenialKind::SystemCall => (Action::Syscall, refused(denial.detail)),
        DenialKind::Unseen => (Action::Syscall, unseen(target)),
    };
    let Found { target, rule, layer, grant, note } = found;
    // Nothing failed there, and without what is lent it would have.
    let lent = denial.detail == 0 && matches!(action, Action::FileRead | Action::FileWrite | Action::Exec);
    // There what is not shown is there all the same, and what keeps it closed is not a mount.
    let closed = plan.world == World::Ruled && denial.detail == EACCES && layer == MOUNTS;
    let layer = if closed { "Landlock".to_owned() } else { layer };
    let rule = if lent { format!("{rule}; {LENT} let it through") } else { rule };
    let exe = denial.exe.as_deref().map(|exe| String::from_utf8_lossy(exe).into_owned());
    let (pid, count) = (Some(denial.pid), denial.count);
    Some(Violation { action, target, rule, layer, pid, exe, count, grant, note })
}

/// Whether the end of the run decides about a denial: the path was missing in a directory that is the command's own, so
/// the command can make it and go on, as every `mkdir -p` does.
pub(crate) fn waits_for_end(plan: &Plan, denial: &Denial) -> bool {
    matches!(denial.detail, ENOENT | ENOTDIR) && may_be_made(denial.kind) && own_place(plan, denial).is_some()
}

/// Whether a denial that waited for the end is none: what was missing is there. Of a run that was killed nothing is known,
/// and a directory that was to be made, or a socket that was looked for, is the rule and not the exception.
pub(crate) fn is_settled(plan: &Plan, denial: &Denial) -> bool {
    let is_name = matches!(denial.kind, DenialKind::Name | DenialKind::Create);
    match denial.at_end {
        None => is_name || denial.kind == DenialKind::UnixSocket,
        Some(FoundAtEnd { target: true, .. }) => true,
        // Only a directory on the way was missing.
        Some(FoundAtEnd { parent, .. }) if is_name => parent,
        // A client looks for its server, and makes the directory of the socket when it starts one itself.
        Some(FoundAtEnd { parent, .. }) if denial.kind == DenialKind::UnixSocket => {
            parent && own_place(plan, denial).is_some_and(|(place, path)| path.parent() != Some(place))
        }
        Some(_) => false,
    }
}

/// The directory of the command's own that a denied path lies in, and the path.
fn own_place<'a>(plan: &'a Plan, denial: &'a Denial) -> Option<(&'a Path, &'a Path)> {
    let path = Path::new(OsStr::from_bytes(denial.target.as_deref()?));
    let is_shown = matches!(plan.standing(path, Wish::Read), Standing::Allowed { .. });
    Some((plan.private_place(path).filter(|_| !is_shown)?, path))
}

const fn may_be_made(kind: DenialKind) -> bool {
    match kind {
        DenialKind::Read
        | DenialKind::Execute
        | DenialKind::Write
        | DenialKind::Create
        | DenialKind::Name
        | DenialKind::UnixSocket => true,
        DenialKind::Remove | DenialKind::Address | DenialKind::Lookup | DenialKind::SystemCall | DenialKind::Unseen => {
            false
        }
    }
}

/// What was denied when the command itself could not be executed; `None` if it would not work outside either.
///
/// The kernel says the same of a script whose interpreter is missing as of a missing script.
pub(crate) fn not_executed(plan: &Plan) -> Option<Violation> {
    plan.candidates().iter().find_map(|path| {
        let path = plainly(&plan.workdir.as_path().join(path));
        let found = match plan.standing(&path, Wish::Read) {
            Standing::Denied(_) => at_path(plan, &path, Wish::Read, ENOENT, program),
            Standing::Allowed { host } => at_path(plan, &interpreter(&host?)?, Wish::Read, ENOENT, program),
            Standing::Kernel => None,
        };
        let Found { target, rule, layer, grant, note } = found?;
        let (pid, exe, count) = (None, None, 1);
        Some(Violation { action: Action::Exec, target, rule, layer, pid, exe, count, grant, note })
    })
}

/// A path without `.` and `..`, as its text says.
fn plainly(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// What was denied at a target, and how it is allowed.
struct Found {
    target: String,
    rule: String,
    layer: String,
    grant: Option<Grant>,
    note: Option<String>,
}

/// The smallest thing to show so that a deed at a host path works; `None` if it would not work outside either.
type Minimal = fn(&Path) -> Option<Grant>;

fn readable(host: &Path) -> Option<Grant> {
    (may(host, Deed::Read) && !is_probing(host)).then(|| Grant::FsRead(host.to_owned()))
}

fn executable(host: &Path) -> Option<Grant> {
    may(host, Deed::Execute).then(|| Grant::FsRead(host.to_owned()))
}

/// A directory can be entered, which is another right of the same name.
fn program(host: &Path) -> Option<Grant> {
    host.is_file().then(|| executable(host)).flatten()
}

fn writable(host: &Path) -> Option<Grant> {
    (may(host, Deed::Write) && !is_optional_write(host)).then(|| Grant::FsWrite(host.to_owned()))
}

/// What is not there yet can only be made in a directory that is shown.
fn creatable(host: &Path) -> Option<Grant> {
    if host.exists() { writable(host) } else { namable(host) }
}

fn namable(host: &Path) -> Option<Grant> {
    changeable(host).filter(|_| !is_optional_write(host))
}

fn removable(host: &Path) -> Option<Grant> {
    host.symlink_metadata().ok().and_then(|_| changeable(host))
}

fn changeable(host: &Path) -> Option<Grant> {
    let directory = host.parent()?;
    may_change_names(directory).then(|| Grant::FsWrite(directory.to_owned()))
}

fn connectable(host: &Path) -> Option<Grant> {
    (is_socket(host) && may(host, Deed::Write)).then(|| Grant::FsRead(host.to_owned()))
}

fn at_path(plan: &Plan, path: &Path, wish: Wish, errno: u32, minimal: Minimal) -> Option<Found> {
    let target = path.display().to_string();
    let Denied { host, rule, layer, way } = match plan.standing(path, wish) {
        Standing::Denied(_) if is_of_image(plan, path) => return in_image(target, wish, errno),
        Standing::Denied(denied) => denied,
        // Rights of files say no to the user outside as well.
        Standing::Allowed { .. } => return None,
        Standing::Kernel => return kernel(path, target),
    };
    let shown = minimal(&host)?;
    let (grant, note) = match way {
        Way::Only(grant) => (Some(grant), None),
        Way::Other(note) => (None, Some(note)),
        Way::Show if is_too_much(&shown) => {
            let path = granted(&shown).display();
            (None, Some(format!("it would take all of `{path}`; bind something smaller")))
        }
        Way::Show if leads_out(plan, granted(&shown)).is_some() => {
            let behind = leads_out(plan, granted(&shown)).unwrap_or_default();
            let what = format!("a link that a command may have made leads to `{}`", behind.display());
            (None, Some(format!("{what}; bind that place")))
        }
        Way::Show if path.to_str().is_none() => {
            (None, Some("its name is not UTF-8, which no policy can say".to_owned()))
        }
        Way::Show => match worry(granted(&shown), plan.identity.home.as_path()) {
            Some(why) if is_not_offered(granted(&shown), plan.identity.home.as_path()) => {
                (None, Some(format!("no grant is offered: {why}")))
            }
            risk => (Some(shown), risk.map(|why| format!("risk: {why}"))),
        },
    };
    Some(Found { target, rule, layer: layer.to_owned(), grant, note })
}

/// Whether a path belongs to an image: what the host has by that name is something else.
fn is_of_image(plan: &Plan, path: &Path) -> bool {
    plan.image.is_some() && !plan.files.shown.iter().any(|shown| path.starts_with(shown.guest.as_path()))
}

/// What an image does not have is missing and not denied; what it has can be read. So only writing is. Whether rights or
/// the mount are asked first is the kernel's business: neither lets anybody write there.
fn in_image(target: String, wish: Wish, errno: u32) -> Option<Found> {
    let note = "the image's root is read-only; write to the workspace, /tmp or new files in the home directory";
    (wish == Wish::Write && matches!(errno, EROFS | EACCES)).then(|| Found {
        target,
        rule: "an image is read-only".to_owned(),
        layer: "a read-only mount".to_owned(),
        grant: None,
        note: Some(note.to_owned()),
    })
}

/// What somebody should think of before granting a path, also where links lead to it: a command may have made them.
fn worry(path: &Path, home: &Path) -> Option<&'static str> {
    let behind = || path.canonicalize().ok().and_then(|behind| risk(&behind, home));
    let service = || is_socket(path).then_some("a service of the host listens there");
    risk(path, home).or_else(behind).or_else(service)
}

/// Whether a path, or what links lead to, is nothing that should be granted because a message says so.
fn is_not_offered(path: &Path, home: &Path) -> bool {
    is_never_offered(path, home) || path.canonicalize().is_ok_and(|behind| is_never_offered(&behind, home))
}

/// Where a path leads that lies in a place that commands write and leads out of it: nobody can show it by that name.
fn leads_out(plan: &Plan, path: &Path) -> Option<PathBuf> {
    let behind = path.canonicalize().ok()?;
    let out = plan.written_places().any(|place| path.starts_with(place) && !behind.starts_with(place));
    out.then_some(behind)
}

fn granted(grant: &Grant) -> &Path {
    match grant {
        Grant::FsRead(path) | Grant::FsWrite(path) => path,
        Grant::NetConnect(_) | Grant::NetFull | Grant::Env(_) | Grant::Limit { .. } => Path::new(""),
    }
}

/// Whether a grant would give away a part of the system as a whole: nothing directly below the root is suggested.
fn is_too_much(grant: &Grant) -> bool {
    let path = granted(grant);
    path.is_dir() && path.components().count() <= 2 && path != Path::new("/opt") && path != Path::new("/srv")
}

fn kernel(path: &Path, target: String) -> Option<Found> {
    let named = KERNEL.iter().any(|place| path.starts_with(place));
    (named && path.exists()).then(|| Found {
        target,
        rule: "the kernel's own files are not shown".to_owned(),
        layer: "the process table of the sandbox".to_owned(),
        grant: None,
        note: Some("nothing allows this inside a sandbox".to_owned()),
    })
}

fn on_network(plan: &Plan, peer: &Path) -> Found {
    Found {
        target: peer.display().to_string(),
        rule: format!("network: {} ({})", plan.network.value.mode.name(), plan.network.origin),
        layer: "a network namespace of its own".to_owned(),
        grant: Some(Grant::NetFull),
        note: Some("risk: it opens the host's whole network".to_owned()),
    }
}

fn refused(number: u32) -> Found {
    let name = syscalls::name_of(i64::from(number));
    Found {
        target: name.map_or_else(|| format!("system call {number}"), str::to_owned),
        rule: "the call is not on the list".to_owned(),
        layer: "seccomp".to_owned(),
        grant: None,
        note: Some("nothing allows this inside a sandbox".to_owned()),
    }
}

/// The layer of what could not be looked at.
const OBSERVER: &str = "the observer";

fn process(name: Option<&Path>) -> String {
    let named = name.filter(|name| !name.as_os_str().is_empty());
    named.map_or_else(|| "a process without a name".to_owned(), |name| name.display().to_string())
}

/// Calls that went on without a look: the process is bound like every other, and what it was denied is not listed.
fn unseen(name: Option<&Path>) -> Found {
    Found {
        target: process(name),
        rule: "the kernel keeps the memory of a process that is not dumpable from the observer".to_owned(),
        layer: OBSERVER.to_owned(),
        grant: None,
        note: Some("its calls are bound as all are; those that were denied are not listed".to_owned()),
    }
}

#[cfg(test)]
mod tests;
