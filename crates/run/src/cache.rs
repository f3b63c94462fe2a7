//! Probes cost about as much as a run, so what they found is kept for a few seconds.
//!
//! The cache can only make polder refuse or fail, never weaken it: the launch does every step again. It lives where
//! only the caller can write: root's in `/run/polder`, a user's in its runtime or cache directory.

use polder_sys::probe::Machine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Long enough for a burst of runs, short enough for a changed sysctl to be noticed.
const KEPT_SECONDS: u64 = 30;
const NAME: &str = "facts.json";

#[derive(Serialize, Deserialize)]
struct Kept {
    key: String,
    seconds: u64,
    machine: Machine,
}

/// What was found a moment ago, or what `probe` finds now.
pub(crate) fn machine(
    environment: &BTreeMap<OsString, OsString>,
    workspace: &Path,
    probe: impl FnOnce() -> Machine,
) -> Machine {
    let key = key(workspace);
    let place = place(environment);
    if let Some(kept) = place.as_deref().and_then(read)
        && kept.key == key
        && now().checked_sub(kept.seconds).is_some_and(|age| age < KEPT_SECONDS)
    {
        return kept.machine;
    }
    let machine = probe();
    if let Some(place) = place {
        // A cache that cannot be written costs time, nothing else.
        let _ = write(&place, &Kept { key, seconds: now(), machine: machine.clone() });
    }
    machine
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Facts hold for this program, this user, this cgroup and this file system.
fn key(workspace: &Path) -> String {
    let (uid, _) = polder_sys::wait::effective_ids();
    let cgroup = own_cgroup();
    let device = fs::metadata(workspace).map_or(0, |metadata| metadata.dev());
    format!("{} {uid} {device} {cgroup}", env!("CARGO_PKG_VERSION"))
}

/// The lists of cgroups, in one read: the standard library would ask six times for a file that says it is empty.
fn own_cgroup() -> String {
    let mut text = [0; 4096];
    let got = fs::File::open("/proc/self/cgroup").and_then(|mut file| file.read(&mut text)).unwrap_or(0);
    String::from_utf8_lossy(&text[..got]).into_owned()
}

fn place(environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    if polder_sys::wait::effective_ids().0 == 0 {
        return Some(PathBuf::from("/run/polder"));
    }
    let variable = |name: &str| {
        let value = environment.get(&OsString::from(name)).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let base = variable("XDG_RUNTIME_DIR")
        .or_else(|| variable("XDG_CACHE_HOME"))
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("polder"))
}

fn read(place: &Path) -> Option<Kept> {
    let text = fs::read(place.join(NAME)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Written aside and renamed: a reader never sees half of it, and a link at the name is replaced, not followed.
fn write(place: &Path, kept: &Kept) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(place)?;
    let aside = place.join(format!("{NAME}.{}", std::process::id()));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
    let written = file.write_all(&serde_json::to_vec(kept)?).and_then(|()| fs::rename(&aside, place.join(NAME)));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}
