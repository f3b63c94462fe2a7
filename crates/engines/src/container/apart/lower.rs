//! From a judged plan to a container in a kernel of its own: everything is a mount, also what hides. Pure.

use crate::container::image_ground::{DAEMONS, FILES};
use crate::container::kind::Kind;
use crate::container::lower::filled_in;
use crate::shimmed::{allowance, has_private_home, inside_of, relative};
use polder_engine::Fitted;
use polder_facts::GuestPath;
use polder_plan::{ALLOWANCE, Configuration, MaskKind, Plan};
use polder_policy::Access;
use polder_sys::cgroup::Bounds;
use polder_sys::inmate::{self, Errand};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Our own program inside.
const PROGRAM: &str = "/.polder/inmate";
/// `RLIMIT_NPROC`, and the threads of our own program, which count.
const RLIMIT_NPROC: u32 = 6;
const OURS: u64 = 5;

/// Something that is mounted in the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mounted {
    pub(super) at: PathBuf,
    pub(super) read_only: bool,
    pub(super) from: From,
}

/// Where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// Our own program.
    Program,
    /// A directory or a file of the system's.
    System(PathBuf),
    /// A path of the user's, of which no component may be a symbolic link, and which must still be that file inside.
    Users(PathBuf),
    /// A file that we write.
    Written(String),
    /// Nothing that anybody can read, in the place of a directory or a file.
    Hidden { directory: bool },
    /// Memory, for the user of the run.
    Memory { mode: u32 },
}

/// What has to be looked up on the host.
pub(super) trait Host {
    /// Whether something is there.
    fn has(&self, path: &Path) -> bool;
    /// Whether it is a directory.
    fn is_directory(&self, path: &Path) -> bool;
}

/// Everything that is mounted, parents before children, and none twice.
pub(super) fn mounts(plan: &Plan, image_env: Option<&[String]>, host: &dyn Host) -> Vec<Mounted> {
    let in_image = image_env.is_some();
    let plan = &filled_in(plan, image_env);
    let mut mounts = BTreeMap::new();
    let mut add = |at: &Path, read_only: bool, from: From| {
        mounts.insert(at.to_owned(), Mounted { at: at.to_owned(), read_only, from });
    };
    add(Path::new(PROGRAM), true, From::Program);
    if !in_image {
        for entry in &plan.files.system {
            add(entry.path.as_path(), true, From::System(entry.path.as_path().to_owned()));
        }
        let release = Path::new("/usr/lib/os-release");
        if host.has(release) {
            add(Path::new("/etc/os-release"), true, From::System(release.to_owned()));
        }
        for Configuration::File(name) | Configuration::Directory(name) in &plan.files.configuration {
            let path = Path::new("/etc").join(name);
            if host.has(&path) {
                add(&path, true, From::System(path.clone()));
            }
        }
    }
    let ours = |path: &Path| !in_image || FILES.iter().chain(&DAEMONS).any(|own| path == Path::new(own));
    for written in plan.files.written.iter().filter(|written| ours(written.path.as_path())) {
        add(written.path.as_path(), true, From::Written(written.content.clone()));
    }
    add(Path::new(ALLOWANCE), true, From::Written(allowance(plan).to_string_lossy().into_owned()));
    for place in ["/tmp", "/var/tmp"] {
        add(Path::new(place), false, From::Memory { mode: 0o1777 });
    }
    if has_private_home(plan) {
        add(plan.identity.home.as_path(), false, From::Memory { mode: 0o700 });
    }
    for shown in &plan.files.shown {
        let from = From::Users(shown.host.as_path().to_owned());
        add(shown.guest.as_path(), shown.access == Access::ReadOnly, from);
    }
    for pinned in &plan.files.pinned {
        let (path, read_only) = on_host(plan, pinned);
        add(pinned.as_path(), read_only, From::Users(path));
    }
    for mask in &plan.files.masks {
        let (path, _) = on_host(plan, &mask.path);
        let from = match mask.kind {
            MaskKind::Protect => From::Users(path),
            MaskKind::Hide => From::Hidden { directory: host.is_directory(&path) },
        };
        add(mask.path.as_path(), true, from);
    }
    let mut mounts: Vec<Mounted> = mounts.into_values().collect();
    mounts.sort_by_key(|mount| mount.at.components().count());
    mounts
}

/// Where a guest path is on the host, and whether it is only read there: below the innermost thing that is shown, or among
/// the system's files, which have the same names. In an image it may be another kind of file; then nothing starts.
fn on_host(plan: &Plan, path: &GuestPath) -> (PathBuf, bool) {
    let holds = plan.files.shown.iter().filter(|shown| path.is_within(&shown.guest));
    let shown = holds.max_by_key(|shown| shown.guest.as_path().components().count());
    let below = shown.and_then(|shown| Some((shown, relative(path).strip_prefix(relative(&shown.guest)).ok()?)));
    let Some((shown, below)) = below else { return (path.as_path().to_owned(), true) };
    let host = shown.host.as_path();
    let host = if below.as_os_str().is_empty() { host.to_owned() } else { host.join(below) };
    (host, shown.access == Access::ReadOnly)
}

/// What must hold for the container. Processes are counted inside: the runtime has threads of its own on the host.
pub(super) fn bounds(plan: &Plan, limited: bool) -> Bounds {
    let limits = &plan.limits;
    Bounds {
        memory_bytes: limits.memory.as_ref().filter(|_| limited).map(|limit| limit.value.0),
        pids: None,
        cpus: limits.cpus.as_ref().filter(|_| limited).map(|limit| limit.value),
    }
}

/// What our program inside does.
pub(super) fn errand(fitted: &Fitted, image_env: Option<&[String]>) -> Errand {
    let plan = filled_in(fitted.plan(), image_env);
    let mut inside = inside_of(&plan, fitted, None, false);
    for limit in inside.rlimits.iter_mut().filter(|limit| limit.resource == RLIMIT_NPROC) {
        limit.value += OURS;
    }
    Errand::new(&inside.command, &inside.rlimits)
}

/// What a container is made with, beside the plan.
pub(super) struct Setting<'a> {
    pub(super) kind: Kind,
    pub(super) image: &'a str,
    pub(super) runtime: &'a str,
    pub(super) labels: &'a BTreeMap<&'static str, String>,
    pub(super) bounds: Bounds,
    /// What is mounted, each with the path by which the daemon finds it; none for memory.
    pub(super) mounts: &'a [(Mounted, Option<PathBuf>)],
}

/// What the daemon is asked for.
pub(super) fn request(plan: &Plan, setting: &Setting<'_>) -> Value {
    let (uid, gid) = (plan.identity.uid, plan.identity.gid);
    // Together they have the size that the plan says; `/dev/shm` is one of them.
    let places = setting.mounts.iter().filter(|(mount, _)| matches!(mount.from, From::Memory { .. })).count() + 1;
    let scratch = plan.files.scratch.0 / places as u64;
    let (mut binds, mut memory) = (Vec::new(), serde_json::Map::new());
    for (Mounted { at, read_only, from }, source) in setting.mounts {
        let at = at.to_string_lossy();
        match (from, source) {
            (From::Memory { mode }, _) => {
                let options = format!("rw,exec,nosuid,nodev,size={scratch},mode={mode:o},uid={uid},gid={gid}");
                memory.insert(at.into_owned(), json!(options));
            }
            (_, Some(source)) => binds.push(json!({
                "Type": "bind",
                "Source": source.to_string_lossy(),
                "Target": at,
                "ReadOnly": read_only,
                "BindOptions": { "Propagation": "rprivate" },
            })),
            (_, None) => {}
        }
    }
    let Bounds { memory_bytes, cpus, pids: _ } = setting.bounds;
    let mut host = json!({
        // Whether memory ran out is known of a container that is still there.
        "AutoRemove": memory_bytes.is_none(),
        "CapDrop": ["ALL"],
        "Init": false,
        "IpcMode": "private",
        "LogConfig": { "Type": "none", "Config": {} },
        "Mounts": binds,
        "NetworkMode": "none",
        "Privileged": false,
        "ReadonlyRootfs": true,
        "RestartPolicy": { "Name": "no", "MaximumRetryCount": 0 },
        "Runtime": setting.runtime,
        "SecurityOpt": ["no-new-privileges"],
        "ShmSize": scratch,
        "Tmpfs": memory,
    });
    let mut say = |key: &str, value: Value| host[key] = value;
    if let Some(bytes) = memory_bytes {
        say("Memory", json!(bytes));
        // Memory and swap together: no swap.
        say("MemorySwap", json!(bytes));
    }
    if let Some(cpus) = cpus {
        say("NanoCpus", json!((cpus * 1e9) as u64));
    }
    if setting.kind == Kind::Podman && !plan.identity.caller_is_root {
        say("UsernsMode", json!("keep-id"));
    }
    json!({
        "Image": setting.image,
        "Entrypoint": [PROGRAM, inmate::ARGUMENT],
        "Cmd": [],
        "Env": [],
        "Hostname": plan.identity.hostname,
        "Labels": setting.labels,
        "NetworkDisabled": false,
        // The input ends with us, and the container with its input.
        "AttachStdin": true, "AttachStdout": true, "AttachStderr": true,
        "OpenStdin": true,
        "StdinOnce": true,
        "Tty": false,
        "User": format!("{uid}:{gid}"),
        "WorkingDir": "/",
        "Healthcheck": match setting.kind {
            Kind::Docker => json!({ "Test": ["NONE"] }),
            Kind::Podman => json!({}),
        },
        "HostConfig": host,
    })
}

#[cfg(test)]
mod tests;
