//! From a judged plan to the request that makes a container, and to the sandbox in it. Pure.
//!
//! The daemon is told as little as can be: which image, which paths of the host, which limits. Whatever it shows lies
//! below one directory of ours; where a command finds it, and what it may do with it, the sandbox inside decides.

use super::fit::{counts_pids, has_cgroups};
use super::image_ground::{directories, files, home_in_image, image_ground, is_below_private};
use super::kind::Kind;
use crate::shimmed::{c, ground, identity, inside_of};
use polder_engine::{Fitted, Layers};
use polder_plan::{Plan, Role, SystemKind};
use polder_policy::NetworkMode;
use polder_sys::cgroup::Bounds;
use polder_sys::{Access, Door, Ground, Identity, Inside, NetNamespace, Source, Step, Terminal};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::path::{Path, PathBuf};

/// Where everything of ours is inside.
pub(super) const OWN: &str = "/.polder";
/// Our own program inside.
const PROGRAM: &str = "/.polder/porter";
/// Processes of the container that are not the command's: the porter and the shim.
const OURS: u64 = 2;
/// Where images without a word about it have their programs.
const IMAGE_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What a container is made with, beside the plan.
pub(super) struct Setting<'a> {
    pub(super) kind: Kind,
    /// The image, by a name that the daemon knows.
    pub(super) image: &'a str,
    /// The variables of the image, `NAME=value`; absent where the container has the host's own programs.
    pub(super) image_env: Option<&'a [String]>,
    /// The name of another runtime than the daemon's usual one.
    pub(super) runtime: Option<&'a str>,
    /// Our own program on the host.
    pub(super) program: &'a Path,
    /// The directory of the door.
    pub(super) door: &'a Path,
    /// An empty directory and an empty file.
    pub(super) empty: &'a Path,
    pub(super) file: &'a Path,
    /// What the workspace is made of, where it is not the real tree.
    pub(super) layers: Option<&'a Layers>,
    /// Device and number of what is shown, with a short name for it, in the order of [`resolved`].
    pub(super) shown: &'a [Located],
    pub(super) labels: &'a BTreeMap<&'static str, String>,
    /// The names of services that share the container's network, the command's own among them; none where nobody does.
    pub(super) names: &'a [&'a str],
}

/// A path of the host that is shown.
pub(super) struct Located {
    pub(super) link: PathBuf,
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// Everything that is decided.
pub(super) struct Lowered {
    /// What the daemon is asked for.
    pub(super) request: Value,
    /// The home that the image should have, and what the daemon is asked for where it has none.
    pub(super) without_home: Option<(PathBuf, Value)>,
    /// Who its first process must be, in the eyes of the host.
    pub(super) uid: u32,
    /// What must hold for all its processes together.
    pub(super) bounds: Bounds,
    pub(super) ground: Ground,
    pub(super) inside: Inside,
}

pub(super) fn lower(fitted: &Fitted, terminal: Option<Terminal>, setting: &Setting<'_>) -> Lowered {
    let plan = &known_by_name(filled_in(fitted.plan(), setting.image_env), setting.names);
    let identity = identity(fitted);
    let (uid, gid) = match identity {
        Identity::Same { uid, gid } => (uid, gid),
        Identity::Range { uid, gid, base, .. } => (base + uid, base + gid),
        Identity::HostRoot => (0, 0),
    };
    let mut ground = sketch(fitted, setting.layers, plan, setting.image_env.is_some());
    if !setting.names.is_empty() {
        // The container's own, which is a loopback and nothing else, and in which the services are.
        ground.net = NetNamespace::Host;
    }
    find_configuration(&mut ground);
    let counted = counts_pids(setting.kind, plan, fitted.host());
    let limited = has_cgroups(setting.kind, plan, fitted.host());
    let bounds = bounds(plan, limited);
    let mut mounts = vec![mount(setting.program, PROGRAM, true), mount(setting.door, Door::DIRECTORY, true)];
    mounts.extend(places(plan, setting));
    // What belongs to a range is handed over by descriptor, with its owners mapped; the daemon never sees it.
    if !matches!(identity, Identity::Range { .. }) {
        mounts.extend(by_daemon(&mut ground, setting.shown));
    }
    let ask = |mounts: &[Value]| request(plan, setting, &format!("{uid}:{gid}"), mounts, bounds);
    let request = ask(&mounts);
    let without_home = home_in_image(plan).filter(|_| setting.image_env.is_some()).map(|home| {
        mounts.push(mount(setting.empty, &home.to_string_lossy(), true));
        (home.to_owned(), ask(&mounts))
    });
    Lowered { request, without_home, uid, bounds, ground, inside: inside_of(plan, fitted, terminal, counted) }
}

/// The plan with what only the image could say: its variables, where nobody else has set them, and its PATH and HOME,
/// which are about its own files.
pub(super) fn filled_in(plan: &Plan, image_env: Option<&[String]>) -> Plan {
    let mut plan = plan.clone();
    let Some(image_env) = image_env else { return plan };
    let said: BTreeMap<&str, &str> = image_env.iter().filter_map(|entry| entry.split_once('=')).collect();
    for (name, value) in &said {
        plan.env.entry(OsString::from(name)).or_insert_with(|| OsString::from(value));
    }
    plan.env.entry("PATH".into()).or_insert_with(|| IMAGE_PATH.into());
    if let Some(home) = said.get("HOME").and_then(|home| polder_facts::GuestPath::new(home).ok()).filter(is_place) {
        plan.env.insert("HOME".into(), home.as_os_str().to_owned());
        move_home(&mut plan, home);
    }
    plan
}

/// Gives the plan another home, with what is kept below the home, and what tells of it.
fn move_home(plan: &mut Plan, home: polder_facts::GuestPath) {
    let old = std::mem::replace(&mut plan.identity.home, home);
    let (home, name) = (&plan.identity.home, &plan.identity.name);
    for shown in plan.files.shown.iter_mut().filter(|shown| shown.role == Role::Cache) {
        let below = shown.guest.as_path().strip_prefix(old.as_path()).ok();
        if let Some(guest) = below.and_then(|below| home.join(below).ok()) {
            shown.guest = guest;
        }
    }
    if home.as_os_str().as_encoded_bytes().iter().any(|byte| *byte == b':' || byte.is_ascii_control()) {
        // No table of users can hold it.
        return;
    }
    for written in plan.files.written.iter_mut().filter(|written| written.path.as_path() == Path::new("/etc/passwd")) {
        let line = |line: &str| {
            let fields: Vec<&str> = line.split(':').collect();
            match fields[..] {
                [user, password, uid, gid, about, _, shell] if user == name => {
                    format!("{user}:{password}:{uid}:{gid}:{about}:{home}:{shell}\n")
                }
                _ => format!("{line}\n"),
            }
        };
        written.content = written.content.lines().map(line).collect();
    }
}

/// The plan with the names of services in its table of hosts.
fn known_by_name(mut plan: Plan, names: &[&str]) -> Plan {
    for written in plan.files.written.iter_mut().filter(|written| written.path.as_path() == Path::new("/etc/hosts")) {
        for name in names {
            written.content.push_str(&format!("127.0.0.1\t{name}\n"));
        }
    }
    plan
}

/// Whether something private can lie there.
fn is_place(home: &polder_facts::GuestPath) -> bool {
    let path = home.as_path();
    path != Path::new("/") && ["/proc", "/dev", "/sys", "/run/polder", OWN].iter().all(|own| !path.starts_with(own))
}

/// The sandbox in the container, with the host's own paths.
fn sketch(fitted: &Fitted, layers: Option<&Layers>, plan: &Plan, in_image: bool) -> Ground {
    if in_image { image_ground(plan, layers, identity(fitted)) } else { ground(fitted, layers) }
}

/// The paths of the host that a run is shown, in order.
pub(super) fn resolved(fitted: &Fitted, layers: Option<&Layers>, image_env: Option<&[String]>) -> Vec<CString> {
    let plan = filled_in(fitted.plan(), image_env);
    let steps = sketch(fitted, layers, &plan, image_env.is_some()).steps;
    let paths = steps.into_iter().filter_map(|step| match step {
        Step::Bind { source: Source::Resolved { path }, .. } => Some(path),
        _ => None,
    });
    paths.collect()
}

/// Turns the host's paths of a ground into those at which the container has them, and gives the mounts that bring them
/// there. The daemon is not believed: what stands where a path is shown must be the very file that the caller opened.
fn by_daemon(ground: &mut Ground, shown: &[Located]) -> Vec<Value> {
    let (mut steps, mut mounts) = (Vec::new(), Vec::new());
    let mut shown = shown.iter().enumerate();
    for mut step in std::mem::take(&mut ground.steps) {
        let mut check = None;
        if let Step::Bind { source: Source::Resolved { path }, at, access } = &mut step
            && let Some((number, located)) = shown.next()
        {
            let inside = format!("{OWN}/shown/{number}");
            mounts.push(mount(&located.link, &inside, *access == Access::ReadOnly));
            *path = c(inside);
            check = Some(Step::Same { at: at.clone(), device: located.device, inode: located.inode });
        }
        steps.push(step);
        steps.extend(check);
    }
    ground.steps = steps;
    mounts
}

/// The host's configuration is shown to the container at a place of ours.
fn find_configuration(ground: &mut Ground) {
    for step in &mut ground.steps {
        match step {
            // The daemon writes this one for the container, from wherever the host has it.
            Step::ShowIfThere { from, .. } if from.as_bytes() == b"/etc/resolv.conf" => {}
            Step::ShowIfThere { from, .. } => *from = c(format!("{OWN}{}", from.to_string_lossy())),
            _ => {}
        }
    }
}

fn bounds(plan: &Plan, limited: bool) -> Bounds {
    let limits = &plan.limits;
    if !limited {
        return Bounds { memory_bytes: None, pids: None, cpus: None };
    }
    Bounds {
        memory_bytes: limits.memory.as_ref().map(|limit| limit.value.0),
        pids: limits.pids.as_ref().map(|limit| limit.value + OURS),
        cpus: limits.cpus.as_ref().map(|limit| limit.value),
    }
}

fn mount(source: &Path, target: &str, read_only: bool) -> Value {
    json!({
        "Type": "bind",
        "Source": source.to_string_lossy(),
        "Target": target,
        "ReadOnly": read_only,
        "BindOptions": { "Propagation": "rprivate" },
    })
}

/// What the root of the container needs: the host's programs, or mount points in an image.
fn places(plan: &Plan, setting: &Setting<'_>) -> Vec<Value> {
    if setting.image_env.is_none() {
        let same = |path: &Path| mount(path, &path.to_string_lossy(), true);
        // Links too: they are followed here, so that our own program finds its libraries if it has any.
        let system = plan.files.system.iter().map(|entry| match entry.kind {
            SystemKind::Directory | SystemKind::Link(_) => same(entry.path.as_path()),
        });
        return system.chain([mount(Path::new("/etc"), &format!("{OWN}/etc"), true)]).collect();
    }
    let directory = |at: &Path| mount(setting.empty, &at.to_string_lossy(), true);
    let file = |at: &Path| mount(setting.file, &at.to_string_lossy(), true);
    let mut places = directories().iter().map(|at| directory(at)).collect::<Vec<_>>();
    places.extend(files(plan).iter().map(|at| file(Path::new(at))));
    let holds = |inner: &polder_plan::Shown| {
        plan.files.shown.iter().any(|outer| outer.guest != inner.guest && inner.guest.is_within(&outer.guest))
    };
    // Below something that is shown, the mount point must be there: nothing is made on the host.
    let made_inside = |shown: &polder_plan::Shown| is_below_private(plan, shown.guest.as_path());
    for shown in plan.files.shown.iter().filter(|shown| !holds(shown) && !made_inside(shown)) {
        places.push(if shown.directory { directory(shown.guest.as_path()) } else { file(shown.guest.as_path()) });
    }
    places
}

fn request(plan: &Plan, setting: &Setting<'_>, user: &str, mounts: &[Value], bounds: Bounds) -> Value {
    // Our own sandbox needs to mount and to make namespaces, in a user namespace and with no right of the host's; the
    // usual profiles forbid that. What the command may call, the sandbox's own filter says, which is narrower.
    let mut security = vec!["no-new-privileges", "seccomp=unconfined", "apparmor=unconfined", "label=disable"];
    if setting.kind == Kind::Podman {
        security.push("unmask=ALL");
    }
    let mut host = json!({
        "AutoRemove": true,
        "CapDrop": ["ALL"],
        "Init": false,
        "IpcMode": "private",
        "LogConfig": { "Type": "none", "Config": {} },
        "MaskedPaths": [],
        "Mounts": mounts,
        "NetworkMode": match plan.network.value.mode {
            NetworkMode::Full => "host",
            NetworkMode::None | NetworkMode::Restricted => "none",
        },
        "Privileged": false,
        "ReadonlyPaths": [],
        "ReadonlyRootfs": true,
        "RestartPolicy": { "Name": "no", "MaximumRetryCount": 0 },
        "SecurityOpt": security,
    });
    let mut say = |key: &str, value: Value| host[key] = value;
    if let Some(bytes) = bounds.memory_bytes {
        say("Memory", json!(bytes));
        // Memory and swap together: no swap.
        say("MemorySwap", json!(bytes));
    }
    if let Some(pids) = bounds.pids {
        say("PidsLimit", json!(pids));
    }
    if let Some(cpus) = bounds.cpus {
        say("NanoCpus", json!((cpus * 1e9) as u64));
    }
    if let Some(runtime) = setting.runtime {
        say("Runtime", json!(runtime));
    }
    if setting.kind == Kind::Podman && !plan.identity.caller_is_root {
        say("UsernsMode", json!("keep-id"));
    }
    let mut request = json!({
        "Image": setting.image,
        "Entrypoint": [PROGRAM, Door::ARGUMENT],
        "Cmd": [],
        "Env": [],
        "Hostname": plan.identity.hostname,
        "Labels": setting.labels,
        "NetworkDisabled": false,
        "OpenStdin": false,
        "Tty": false,
        "User": user,
        "WorkingDir": "/",
        "HostConfig": host,
    });
    if setting.kind == Kind::Docker {
        // The checks of an image would run beside the porter, by the daemon's hand.
        request["Healthcheck"] = json!({ "Test": ["NONE"] });
    } else {
        request["Healthcheck"] = json!({});
    }
    request
}

#[cfg(test)]
mod tests;
