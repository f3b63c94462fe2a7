//! One cgroup per run, in whichever generation carries the controllers here.
//!
//! With v2 a run gets one directory; with v1 one per controller. The directory's name says whose it is (pid and start
//! time of the owner), so that what a killed polder left behind is found and removed by the next one.

use polder_facts::{CgroupFacts, CgroupVersion};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The names of our directories begin with this.
const PREFIX: &str = "polder-";
/// A directory that an administrator made for us: `/sys/fs/cgroup/<controller>/polder`.
const DELEGATED: &str = "polder";
const ROOT: &str = "/sys/fs/cgroup";
/// The period of the cpu controller: the kernel's default.
const PERIOD_US: u64 = 100_000;

/// What a run may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Bytes of memory, swap included.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// CPU seconds per second.
    pub cpus: Option<f64>,
}

/// The cgroup of one run. Removed when dropped, after everything in it is gone.
#[derive(Debug)]
pub struct Cgroup {
    version: CgroupVersion,
    memory: Option<PathBuf>,
    pids: Option<PathBuf>,
    cpu: Option<PathBuf>,
}

/// How a child gets into its cgroup without making everybody wait.
///
/// Moving a process by `cgroup.procs` stops all forks of the machine for a grace period of the kernel, which measured
/// at 13 ms. A thread that moves itself by `tasks` (v1), or that is born inside (v2), needs none of that.
#[derive(Debug)]
pub enum Entrance {
    /// The child writes `0` to each of these.
    Join(Vec<OwnedFd>),
    /// The child is cloned into this directory.
    Born(OwnedFd),
}

/// Limits that were reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The kernel killed something for want of memory.
    pub memory: bool,
    /// A fork was refused.
    pub pids: bool,
}

/// How often limits were reached, from the beginning of a cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Processes that were killed for want of memory.
    pub memory: u64,
    /// Forks that were refused.
    pub pids: u64,
}

impl Counted {
    /// What was reached between two looks.
    pub fn since(self, before: Self) -> Reached {
        Reached { memory: self.memory > before.memory, pids: self.pids > before.pids }
    }
}

/// Why a cgroup could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} `{path}`")]
pub struct CgroupError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

fn fault(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CgroupError {
    let path = path.to_owned();
    move |source| CgroupError { what, path, source }
}

/// The cgroups that another program has put a process into. They are its own to remove.
#[derive(Debug)]
pub struct Watched(std::mem::ManuallyDrop<Cgroup>);

impl Watched {
    /// Finds them, as far as this process can see them.
    pub fn of(pid: u32) -> Self {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let unified = Path::new(ROOT).join("cgroup.controllers").exists();
        let found = |controller: &str| {
            let dir = text.lines().find_map(|line| {
                let (_, rest) = line.split_once(':')?;
                let (controllers, path) = rest.split_once(':')?;
                let path = path.trim_start_matches('/');
                if unified {
                    return controllers.is_empty().then(|| Path::new(ROOT).join(path));
                }
                let named = controllers.split(',').any(|name| name == controller);
                named.then(|| Path::new(ROOT).join(controller).join(path))
            })?;
            dir.is_dir().then_some(dir)
        };
        let version = if unified { CgroupVersion::V2 } else { CgroupVersion::V1 };
        let (memory, pids, cpu) = (found("memory"), found("pids"), found("cpu"));
        Self(std::mem::ManuallyDrop::new(Cgroup { version, memory, pids, cpu }))
    }

    /// The first of the bounds that is not set there as it should be.
    pub fn lacks(&self, bounds: Bounds) -> Option<&'static str> {
        let read = |dir: &Option<PathBuf>, file: &str| {
            let text = fs::read_to_string(dir.as_ref()?.join(file)).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        };
        let (memory_file, cpu_file) = match self.0.version {
            CgroupVersion::V1 => ("memory.limit_in_bytes", "cpu.cfs_quota_us"),
            CgroupVersion::V2 => ("memory.max", "cpu.max"),
        };
        // The kernel counts memory in pages; a smaller bound than was asked for keeps the promise.
        let holds = |bound: Option<u64>, is: Option<u64>| bound.is_none_or(|bound| is.is_some_and(|is| is <= bound));
        if !holds(bounds.memory_bytes, read(&self.0.memory, memory_file)) {
            return Some("memory");
        }
        if !holds(bounds.pids, read(&self.0.pids, "pids.max")) {
            return Some("pids");
        }
        let quota_us = bounds.cpus.map(|cpus| ((cpus * PERIOD_US as f64).ceil() as u64).max(1000));
        (!holds(quota_us, read(&self.0.cpu, cpu_file))).then_some("cpus")
    }

    /// How often its limits were reached so far.
    pub fn counted(&self) -> Counted {
        self.0.counted()
    }
}

impl Cgroup {
    /// Makes the directories that the bounds need and writes the bounds. A bound without a controller is the caller's
    /// mistake: the fit has judged it.
    pub fn create(facts: &CgroupFacts, bounds: Bounds) -> Result<Self, CgroupError> {
        let name = own_name();
        let mut made = Self { version: facts.version, memory: None, pids: None, cpu: None };
        // Each directory is in `made` before anything else can fail, so that dropping it cleans up.
        if let (Some(bytes), Some(parent)) = (bounds.memory_bytes, &facts.memory) {
            let dir = make(parent, &name)?;
            made.memory = Some(dir.clone());
            match facts.version {
                CgroupVersion::V1 => {
                    set(&dir, "memory.limit_in_bytes", bytes)?;
                    // Without swap accounting the file is missing, and swap is then bounded by nothing we can name.
                    set_if_there(&dir, "memory.memsw.limit_in_bytes", bytes)?;
                    set_if_there(&dir, "memory.swappiness", 0)?;
                }
                CgroupVersion::V2 => {
                    set(&dir, "memory.max", bytes)?;
                    set_if_there(&dir, "memory.swap.max", 0)?;
                }
            }
        }
        if let (Some(count), Some(parent)) = (bounds.pids, &facts.pids) {
            let dir = made.directory(parent, &name)?;
            made.pids = Some(dir.clone());
            set(&dir, "pids.max", count)?;
        }
        if let (Some(cpus), Some(parent)) = (bounds.cpus, &facts.cpu) {
            let dir = made.directory(parent, &name)?;
            made.cpu = Some(dir.clone());
            // The kernel takes no quota below a millisecond.
            let quota_us = ((cpus * PERIOD_US as f64) as u64).max(1000);
            match facts.version {
                CgroupVersion::V1 => {
                    set(&dir, "cpu.cfs_period_us", PERIOD_US)?;
                    set(&dir, "cpu.cfs_quota_us", quota_us)?;
                }
                CgroupVersion::V2 => write(&dir.join("cpu.max"), &format!("{quota_us} {PERIOD_US}"))?,
            }
        }
        Ok(made)
    }

    /// With v2 all controllers share the directory that the first one made.
    fn directory(&self, parent: &Path, name: &str) -> Result<PathBuf, CgroupError> {
        let existing = self.memory.as_ref().or(self.pids.as_ref());
        match (self.version, existing) {
            (CgroupVersion::V2, Some(dir)) => Ok(dir.clone()),
            _ => make(parent, name),
        }
    }

    fn directories(&self) -> BTreeSet<&PathBuf> {
        [&self.memory, &self.pids, &self.cpu].into_iter().flatten().collect()
    }

    /// How a child gets in.
    pub fn entrance(&self) -> Result<Entrance, CgroupError> {
        let open = |path: PathBuf, write: bool| {
            let file = fs::OpenOptions::new().read(!write).write(write).open(&path);
            file.map(OwnedFd::from).map_err(fault("open", &path))
        };
        match self.version {
            CgroupVersion::V1 => {
                let files = self.directories().into_iter().map(|dir| open(dir.join("tasks"), true));
                files.collect::<Result<_, _>>().map(Entrance::Join)
            }
            CgroupVersion::V2 => match self.directories().into_iter().next() {
                Some(dir) => open(dir.clone(), false).map(Entrance::Born),
                None => Ok(Entrance::Join(Vec::new())),
            },
        }
    }

    /// Which limits were reached so far.
    pub fn reached(&self) -> Reached {
        self.counted().since(Counted { memory: 0, pids: 0 })
    }

    /// How often they were reached so far.
    fn counted(&self) -> Counted {
        let count = |dir: &Option<PathBuf>, file: &str, key: &str| {
            let Some(dir) = dir else { return 0 };
            let text = fs::read_to_string(dir.join(file)).unwrap_or_default();
            let value = text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
            value.unwrap_or(0)
        };
        let memory_file = match self.version {
            CgroupVersion::V1 => "memory.oom_control",
            CgroupVersion::V2 => "memory.events",
        };
        Counted {
            memory: count(&self.memory, memory_file, "oom_kill "),
            pids: count(&self.pids, "pids.events", "max "),
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for dir in self.directories() {
            remove(dir);
        }
    }
}

/// Removes a cgroup; a process that is being torn down keeps it busy for a moment.
fn remove(dir: &Path) {
    const TRIES: u32 = 50;
    for _ in 0..TRIES {
        match fs::remove_dir(dir) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            // Gone, or not ours to remove; the next start's sweep will try again.
            _ => return,
        }
    }
}

fn make(parent: &Path, name: &str) -> Result<PathBuf, CgroupError> {
    let dir = parent.join(name);
    fs::create_dir(&dir).map_err(fault("make the cgroup", &dir))?;
    Ok(dir)
}

fn set(dir: &Path, file: &str, value: u64) -> Result<(), CgroupError> {
    write(&dir.join(file), &value.to_string())
}

fn set_if_there(dir: &Path, file: &str, value: u64) -> Result<(), CgroupError> {
    let path = dir.join(file);
    if path.exists() { write(&path, &value.to_string()) } else { Ok(()) }
}

fn write(path: &Path, value: &str) -> Result<(), CgroupError> {
    fs::write(path, value).map_err(fault("write", path))
}

/// A name that says whose it is and that nobody used before.
fn own_name() -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let pid = std::process::id();
    let start = start_time(pid).unwrap_or(0);
    format!("{PREFIX}{pid}-{start}-{}", COUNTER.fetch_add(1, Ordering::Relaxed))
}

/// When a process started, in clock ticks since boot; with the pid it names a process for good.
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything, also parentheses.
    let after_name = stat.rsplit_once(") ")?.1;
    after_name.split(' ').nth(19)?.parse().ok()
}

/// Removes what killed owners left behind below the places where we make cgroups.
pub fn sweep(facts: &CgroupFacts) {
    let parents: BTreeSet<&PathBuf> = [&facts.memory, &facts.pids, &facts.cpu].into_iter().flatten().collect();
    for parent in parents {
        let Ok(entries) = fs::read_dir(parent) else { continue };
        for entry in entries.flatten() {
            if is_orphan(&entry.file_name()) {
                remove(&entry.path());
            }
        }
    }
}

fn is_orphan(name: &OsStr) -> bool {
    let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { return false };
    let mut parts = rest.split('-');
    let (Some(pid), Some(start)) = (parts.next(), parts.next()) else { return false };
    let (Ok(pid), Ok(start)) = (pid.parse::<u32>(), start.parse::<u64>()) else { return false };
    start_time(pid) != Some(start)
}

/// Where cgroups can be made, found by making one.
pub fn find() -> Option<CgroupFacts> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let v2_path = own.lines().find_map(|line| line.strip_prefix("0::"));
    if Path::new(ROOT).join("cgroup.controllers").exists() {
        return find_v2(v2_path?);
    }
    let v1 = |controller: &str| {
        let path = own.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            controllers.split(',').any(|name| name == controller).then_some(path)
        })?;
        let mount = Path::new(ROOT).join(controller);
        let candidates = [mount.join(path.trim_start_matches('/')), mount.join(DELEGATED)];
        candidates.into_iter().find(|dir| accepts_children(dir))
    };
    let facts = CgroupFacts { version: CgroupVersion::V1, memory: v1("memory"), pids: v1("pids"), cpu: v1("cpu") };
    (facts.memory.is_some() || facts.pids.is_some() || facts.cpu.is_some()).then_some(facts)
}

/// The nearest ancestor that hands controllers to its children and lets us make one.
fn find_v2(own: &str) -> Option<CgroupFacts> {
    let own = Path::new(ROOT).join(own.trim_start_matches('/'));
    let delegated = Path::new(ROOT).join(DELEGATED);
    let ancestors = own.ancestors().take_while(|dir| dir.starts_with(ROOT)).map(Path::to_owned);
    for dir in ancestors.chain([delegated]) {
        let Ok(enabled) = fs::read_to_string(dir.join("cgroup.subtree_control")) else { continue };
        let has = |name: &str| enabled.split_whitespace().any(|controller| controller == name);
        if !(has("memory") || has("pids") || has("cpu")) || !accepts_children(&dir) {
            continue;
        }
        // Moving a process needs the right to write the common ancestor's list.
        if fs::OpenOptions::new().write(true).open(dir.join("cgroup.procs")).is_err() {
            continue;
        }
        let place = |name: &str| has(name).then(|| dir.clone());
        return Some(CgroupFacts {
            version: CgroupVersion::V2,
            memory: place("memory"),
            pids: place("pids"),
            cpu: place("cpu"),
        });
    }
    None
}

fn accepts_children(dir: &Path) -> bool {
    let trial = dir.join(own_name());
    fs::create_dir(&trial).is_ok() && fs::remove_dir(&trial).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_a_living_owner_is_not_an_orphan() {
        assert!(!is_orphan(OsStr::new(&own_name())));
        assert!(!is_orphan(OsStr::new("polder-x-y-z")));
        assert!(!is_orphan(OsStr::new("system.slice")));
    }

    #[test]
    fn a_directory_whose_owner_is_gone_or_replaced_is_an_orphan() {
        let pid = std::process::id();
        assert!(is_orphan(OsStr::new(&format!("polder-{pid}-1-0"))), "another process once had this pid");
        assert!(is_orphan(OsStr::new("polder-4194999-1-0")), "no process has this pid");
    }
}
