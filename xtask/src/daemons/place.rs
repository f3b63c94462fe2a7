//! The directory of one run's daemons: made fresh, never used twice, and taken away with everything that lives by it.
//!
//! A socket or a pid file that lies about says nothing about a process. So a process is ended only when its own command
//! line names the directory, when it has the directory's files mounted, or when it is in the directory's cgroup.

use super::ready::ask;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where all of them are: nobody but root can make names here.
const PARENT: &str = "/var/lib/polder-test";
/// Short, since Podman takes no directory for its state whose path is longer than 50 characters.
const PREFIX: &str = "d-";
/// How long daemons may take to end when they are asked to.
const ASKED: Duration = Duration::from_secs(10);
/// How long anything may take to vanish when it is told to.
const TOLD: Duration = Duration::from_secs(10);
/// Where the daemons listen.
pub(super) const SOCKETS: [&str; 3] = ["docker.sock", "root/podman.sock", "user/podman.sock"];
const STEP: Duration = Duration::from_millis(20);

/// A directory that belongs to a keeper which lives.
pub(super) struct Place {
    path: PathBuf,
    /// Locked as long as the keeper lives.
    _lock: File,
}

impl Place {
    /// Sweeps what dead keepers left, and makes a directory that never was.
    pub(super) fn new() -> Result<Self, String> {
        let said = |error: io::Error| format!("cannot make a place for daemons below {PARENT}: {error}");
        fs::create_dir_all(PARENT).map_err(said)?;
        // One at a time: a directory without a locked file in it may be about to get one.
        let turn = File::create(Path::new(PARENT).join("daemons.lock")).map_err(said)?;
        turn.lock().map_err(said)?;
        for left in fs::read_dir(PARENT).map_err(said)?.flatten() {
            if left.file_name().to_string_lossy().starts_with(PREFIX) && left.path().is_dir() {
                sweep(&left.path());
            }
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let path = Path::new(PARENT).join(format!("{PREFIX}{now:x}-{}", std::process::id()));
        fs::create_dir(&path).map_err(said)?;
        in_memory(&path);
        let lock = File::create(path.join("lock")).map_err(said)?;
        lock.lock().map_err(said)?;
        let place = Self { path, _lock: lock };
        // A kernel without such cgroups is one where the command lines have to do.
        let _ = fs::create_dir(place.cgroup());
        Ok(place)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The name of everything that is made outside of the directory.
    pub(super) fn name(&self) -> String {
        name(&self.path)
    }

    /// The cgroup in which everything starts and which only tells what is ours.
    pub(super) fn cgroup(&self) -> PathBuf {
        unified().join(self.name())
    }

    /// Ends and removes everything.
    pub(super) fn clear(self) -> Result<(), String> {
        clear(&self.path)
    }
}

/// Puts a place into memory where that can hold layers of images: what daemons write for every container has to reach a
/// disk, and tests wait for it. Elsewhere the disk will do.
fn in_memory(path: &Path) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map(|number| number.parse().unwrap_or(0));
    // Since then a file system in memory knows the attributes that rootless layers need.
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 6) {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "mode=0755", "polder-test"]).arg(path);
        let _ = mount.stderr(Stdio::null()).status();
    }
}

fn name(path: &Path) -> String {
    format!("polder-test-{}", path.file_name().unwrap_or_default().to_string_lossy())
}

/// Where the kernel's second kind of cgroups is.
fn unified() -> PathBuf {
    let hybrid = Path::new("/sys/fs/cgroup/unified");
    if hybrid.is_dir() { hybrid.to_owned() } else { PathBuf::from("/sys/fs/cgroup") }
}

/// Clears a directory whose keeper is gone.
fn sweep(path: &Path) {
    let free = match File::open(path.join("lock")) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if free {
        println_to_people(&format!("removing {}, which a killed run left", path.display()));
        if let Err(error) = clear(path) {
            println_to_people(&error);
        }
    }
}

/// The keeper's output is for the caller; people read the other one.
fn println_to_people(text: &str) {
    eprintln!("daemons: {text}");
}

fn clear(path: &Path) -> Result<(), String> {
    // Politely first: a daemon that lives removes its containers and what it made for them, and then ends.
    for socket in SOCKETS {
        empty(&path.join(socket));
    }
    signal("TERM", &main_processes(path));
    wait(ASKED, || main_processes(path).is_empty());
    let cgroups = named_cgroups(&name(path));
    wait(TOLD, || {
        let mut left = processes_by(path);
        left.extend(members(&cgroups));
        signal("KILL", &left);
        left.is_empty()
    });
    for mount in mounts_below(path) {
        let _ = Command::new("umount").args(["--lazy", "--no-canonicalize"]).arg(mount).stderr(Stdio::null()).status();
    }
    for cgroup in cgroups.iter().rev() {
        wait(TOLD, || fs::remove_dir(cgroup).is_ok() || !cgroup.exists());
    }
    // Podman's parent has one name for all of them; the kernel removes it only where nobody is left in it.
    for cgroup in named_cgroups("libpod_parent").iter().rev() {
        let _ = fs::remove_dir(cgroup);
    }
    let mut last = None;
    let gone = wait(TOLD, || match fs::remove_dir_all(path) {
        Ok(()) => true,
        Err(error) => {
            last = Some(error);
            !path.exists()
        }
    });
    if gone { Ok(()) } else { Err(format!("{} cannot be removed: {last:?}", path.display())) }
}

/// Has a daemon remove its containers, if it lives.
fn empty(socket: &Path) {
    let Ok(list) = ask(socket, "GET /containers/json?all=1", &[]) else { return };
    let list = list.text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let list: Vec<serde_json::Value> = serde_json::from_str(list).unwrap_or_default();
    for id in list.iter().filter_map(|container| container["Id"].as_str()) {
        let _ = ask(socket, &format!("DELETE /containers/{id}?force=1&v=1"), &[]);
    }
}

/// Those that wrote a pid file, if the process of that number is really one of ours.
fn main_processes(path: &Path) -> Vec<u32> {
    let files = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "pid"));
    let pids = files.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    pids.filter(|pid| names(*pid, path) && is_daemon(*pid)).collect()
}

fn is_daemon(pid: u32) -> bool {
    let exe = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    exe.file_name().is_some_and(|name| name == "dockerd" || name == "podman")
}

/// Whether a process lives and its command line names the directory. One that has ended has no command line.
fn names(pid: u32, path: &Path) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let wanted = path.as_os_str().as_encoded_bytes();
    pid != std::process::id() && line.windows(wanted.len()).any(|window| window == wanted)
}

/// Whether a process has the directory's files mounted somewhere: the daemons mount in a table of their own, so that only
/// they and what runs in their containers have.
fn mounts(pid: u32, path: &Path) -> bool {
    let table = fs::read(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
    let wanted = path.as_os_str().as_encoded_bytes();
    let namespace = |who: &str| fs::read_link(format!("/proc/{who}/ns/mnt")).ok();
    namespace(&pid.to_string()) != namespace("self") && table.windows(wanted.len()).any(|window| window == wanted)
}

fn processes_by(path: &Path) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| names(*pid, path) || mounts(*pid, path)).collect()
}

/// The cgroups of this name in every hierarchy, with all below them, parents first.
fn named_cgroups(name: &str) -> Vec<PathBuf> {
    let hierarchies = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten().map(|entry| entry.path());
    let roots = hierarchies.chain([PathBuf::from("/sys/fs/cgroup")]).map(|hierarchy| hierarchy.join(name));
    let mut found: Vec<PathBuf> = roots.filter(|root| root.is_dir()).collect();
    let mut next = 0;
    while let Some(cgroup) = found.get(next).cloned() {
        next += 1;
        let children = fs::read_dir(cgroup).into_iter().flatten().flatten().map(|entry| entry.path());
        found.extend(children.filter(|child| child.is_dir()));
    }
    found.dedup();
    found
}

fn members(cgroups: &[PathBuf]) -> Vec<u32> {
    let lists = cgroups.iter().filter_map(|cgroup| fs::read_to_string(cgroup.join("cgroup.procs")).ok());
    lists.flat_map(|list| list.lines().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

fn signal(which: &str, pids: &[u32]) {
    if !pids.is_empty() {
        let pids = pids.iter().map(u32::to_string);
        // One that has just ended is no error.
        let _ = Command::new("kill").arg("-s").arg(which).args(pids).stderr(Stdio::null()).status();
    }
}

/// Mounts at or below a directory, the last one first.
fn mounts_below(path: &Path) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let places = table.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
    let mut below: Vec<_> = places.filter(|place| place.starts_with(path)).collect();
    below.reverse();
    below
}

/// Waits until something is so, at most this long.
pub(super) fn wait(patience: Duration, mut so: impl FnMut() -> bool) -> bool {
    let begin = std::time::Instant::now();
    loop {
        if so() {
            return true;
        }
        if begin.elapsed() >= patience {
            return false;
        }
        sleep(STEP);
    }
}
