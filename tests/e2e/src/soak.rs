//! Killing polder at random times, and counting what is left once the next run has started.

use crate::place::{Place, is_root};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long what is left may take to go after the last start.
const PATIENCE: Duration = Duration::from_secs(10);
/// Engines whose start takes longer than most, with the time in which a kill hits all of it.
const SLOW: [(&str, u64); 3] = [("firejail", 150), ("docker", 800), ("podman", 1500)];
/// The same for every other engine.
const SPAN_MS: u64 = 40;

/// What kills left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoakReport {
    engine: String,
    kills: u32,
    /// Kills that came when the command was at work already.
    at_work: u32,
    seed: u64,
    processes: Vec<String>,
    mounts: Vec<String>,
    cgroups: Vec<PathBuf>,
    containers: Vec<String>,
    files: Vec<PathBuf>,
}

impl SoakReport {
    /// Whether nothing is left.
    pub const fn is_clean(&self) -> bool {
        self.processes.is_empty()
            && self.mounts.is_empty()
            && self.cgroups.is_empty()
            && self.containers.is_empty()
            && self.files.is_empty()
    }
}

impl fmt::Display for SoakReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, kills, at_work, seed, processes, mounts, cgroups, containers, files } = self;
        let user = if is_root() { "root" } else { "user" };
        let counts = [processes.len(), mounts.len(), cgroups.len(), containers.len(), files.len()];
        let [processes_left, mounts_left, cgroups_left, containers_left, files_left] = counts;
        write!(
            f,
            "{engine:<12} {user:<5} {kills:>5} {at_work:>8} {processes_left:>10} {mounts_left:>7} \
             {cgroups_left:>8} {containers_left:>11} {files_left:>6}"
        )?;
        if !self.is_clean() {
            write!(f, "\n  seed {seed}: {processes:?} {mounts:?} {cgroups:?} {containers:?} {files:?}")?;
        }
        Ok(())
    }
}

/// Kills `kills` runs at random times after their start, lets one more come to its end, and counts.
pub fn soak_kill(engine: &str, kills: u32) -> SoakReport {
    // What polder started and left becomes our child: found by its parent, whatever it is called.
    polder_sys::wait::adopt_orphans().expect("orphans");
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64) | 1;
    let span = SLOW.iter().find(|(slow, _)| *slow == engine).map_or(SPAN_MS, |(_, span)| *span);
    let (place, fresh) = (soak_place(), soak_place());
    let containers = containers_of(engine);
    let mut random = seed;
    let (mut pids, mut at_work) = (BTreeSet::new(), 0);
    for _ in 0..kills {
        // xorshift64: spreads kills over the span, and a seed repeats them.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut command = run(&place, engine, "echo >begun; exec sleep 60");
        let mut child = command.spawn().expect("polder");
        std::thread::sleep(Duration::from_micros(random % (span * 1000)));
        child.kill().expect("a kill");
        child.wait().expect("an end");
        pids.insert(child.id());
        at_work += u32::from(fs::remove_file(place.work().join("begun")).is_ok());
    }
    // A start that comes while a killed run is on its way out leaves its record to the start after it.
    let deadline = Instant::now() + PATIENCE;
    let is_ending = || !orphans().is_empty() || !running(engine).is_subset(&containers);
    while is_ending() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    for place in [&place, &fresh] {
        let ended = run(place, engine, "true").output().expect("polder");
        assert!(ended.status.success(), "the run after the kills: {ended:?}");
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        let report = SoakReport {
            engine: engine.to_owned(),
            kills,
            at_work,
            seed,
            processes: orphans(),
            mounts: mounts_below(place.dir()),
            cgroups: cgroups_of(&pids, Path::new("/sys/fs/cgroup")),
            containers: containers_of(engine).difference(&containers).cloned().collect(),
            files: files_of(&place).difference(&files_of(&fresh)).cloned().collect(),
        };
        if report.is_clean() || Instant::now() > deadline {
            return report;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A repository of its own, whose user permits every engine.
fn soak_place() -> Place {
    let place = Place::new();
    place.write("home/.config/polder/polder.yaml", "allow_unsandboxed: true\n");
    fs::create_dir(place.dir().join("tmp")).expect("a directory");
    let init = place.command("git").args(["init", "--quiet"]).output().expect("git");
    assert!(init.status.success(), "{init:?}");
    place
}

fn run(place: &Place, engine: &str, script: &str) -> Command {
    let mut arguments = vec!["run", "--engine", engine];
    if engine == "firejail" {
        arguments.extend(["fs", "second-layer", "ipc", "privileges"].iter().flat_map(|gap| ["--accept", gap]));
    }
    // A cgroup, where this user can have one.
    if is_root() && engine != "none" {
        arguments.extend(["--memory", "1G"]);
    }
    arguments.extend(["--", "sh", "-c", script]);
    let mut command = place.polder(&arguments);
    for name in ["DOCKER_HOST", "CONTAINER_HOST"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.env("TMPDIR", place.dir().join("tmp"));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Every living process below this one, with what it is called.
fn orphans() -> Vec<String> {
    let mut below: BTreeMap<u32, Vec<(u32, String)>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name in parentheses may contain anything, also parentheses.
        let Some((name, rest)) = stat.rsplit_once(") ") else { continue };
        let mut fields = rest.split(' ');
        let (Some(state), Some(parent)) = (fields.next(), fields.next()) else { continue };
        // One that has ended waits for us to collect it, and holds nothing.
        if let (false, Ok(parent)) = (state == "Z", parent.parse::<u32>()) {
            below.entry(parent).or_default().push((pid, format!("{name}) {state}")));
        }
    }
    let (mut open, mut found) = (vec![std::process::id()], Vec::new());
    while let Some(parent) = open.pop() {
        for (pid, said) in below.remove(&parent).unwrap_or_default() {
            open.push(pid);
            found.push(said);
        }
    }
    found
}

fn mounts_below(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let dir = dir.display().to_string();
    text.lines().filter(|line| line.contains(&dir)).map(str::to_owned).collect()
}

fn cgroups_of(pids: &BTreeSet<u32>, dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let name = entry.file_name();
            let owner = name.to_str().and_then(|name| name.strip_prefix("polder-")?.split('-').next());
            if owner.and_then(|pid| pid.parse().ok()).is_some_and(|pid| pids.contains(&pid)) {
                found.push(entry.path());
            }
            found.extend(cgroups_of(pids, &entry.path()));
        }
    }
    found
}

/// The containers of the daemon that an engine uses.
fn containers_of(engine: &str) -> BTreeSet<String> {
    listed(engine, &["ps", "--all", "--quiet", "--no-trunc"])
}

/// Those of them in which a process is at work: it is a child of the daemon's, not of ours.
fn running(engine: &str) -> BTreeSet<String> {
    listed(engine, &["ps", "--quiet", "--no-trunc"])
}

fn listed(engine: &str, words: &[&str]) -> BTreeSet<String> {
    if !matches!(engine, "docker" | "podman") {
        return BTreeSet::new();
    }
    let listed = Command::new(engine).args(words).output();
    let text = listed.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Every file that polder could have made outside of the workspace, and in it.
fn files_of(place: &Place) -> BTreeSet<PathBuf> {
    fn walk(dir: &Path, root: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                walk(&path, root, found);
            }
            found.insert(path.strip_prefix(root).map(Path::to_owned).unwrap_or(path));
        }
    }
    let mut found = BTreeSet::new();
    for part in ["home", "run", "tmp", "work"] {
        walk(&place.dir().join(part), place.dir(), &mut found);
    }
    // Records of runs have names of their own, and an audit log has one anchor.
    let records = ["home/.local/state/polder/runs", "home/.local/share/polder/audit-anchors"];
    found.into_iter().filter(|path| !records.iter().any(|place| path.starts_with(place))).collect()
}
