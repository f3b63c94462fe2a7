//! What a case left behind on the host: processes, mounts, cgroups, files. Nothing may stay.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What there was before.
pub(crate) struct Before {
    mounts: String,
    descriptors: usize,
    /// What has our number in its name: that of a process which was killed long ago was ours, too.
    named: BTreeSet<String>,
}

impl Before {
    pub(crate) fn now() -> Self {
        Self { mounts: mounts(), descriptors: descriptors(), named: named() }
    }

    /// Everything that is there now and was not before, or belongs to this process.
    pub(crate) fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        if mounts() != self.mounts {
            left.push(format!("mounts changed:\nbefore\n{}after\n{}", self.mounts, mounts()));
        }
        if descriptors() > self.descriptors {
            left.push(format!("{} descriptors, and {} before", descriptors(), self.descriptors));
        }
        left.extend(children().into_iter().map(|child| format!("process {child}")));
        left.extend(named().difference(&self.named).cloned());
        left
    }
}

/// Cgroups and files that have the number of this process in their names.
fn named() -> BTreeSet<String> {
    let cgroups = cgroups(Path::new("/sys/fs/cgroup")).into_iter().map(|dir| format!("cgroup {}", dir.display()));
    let places = ["/tmp", "/var/tmp", "/dev/shm", "/run/polder"];
    let files = places.iter().flat_map(|place| files(Path::new(place)));
    cgroups.chain(files.map(|file| format!("file {}", file.display()))).collect()
}

/// The mounts that this process sees; the order can change without any of them changing.
fn mounts() -> String {
    let text = fs::read_to_string("/proc/self/mountinfo").expect("/proc/self/mountinfo");
    // Others may mount and unmount on this machine; what polder makes has its name or its paths in it.
    let ours = |line: &&str| line.contains("polder");
    text.lines().filter(ours).map(|line| format!("{line}\n")).collect()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("/proc/self/fd").count()
}

/// Children of this process. A sandbox is one of them, and everything inside ends with it.
pub(crate) fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name is in brackets and may contain anything; the parent is the second field behind it.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if parent == Some(own.as_str()) {
            children.push(stat);
        }
    }
    children
}

/// Cgroups that this process made: their names begin with its number.
fn cgroups(dir: &Path) -> Vec<PathBuf> {
    let prefix = format!("polder-{}-", std::process::id());
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            found.push(entry.path());
        }
        found.extend(cgroups(&entry.path()));
    }
    found
}

/// Entries whose name has the number of this process in it.
fn files(dir: &Path) -> Vec<PathBuf> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let has = |part: &str| part == own;
        if name.contains("polder") && name.split(|c: char| !c.is_ascii_digit()).any(has) {
            found.push(entry.path());
        }
    }
    found
}
