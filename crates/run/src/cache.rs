//! Probes cost about as much as a run, so what they found is kept for a few seconds.
//!
//! The cache can only make polder refuse or fail, never weaken it: the launch does every step again.

use polder_sys::kept::Keeping;
use polder_sys::probe::Machine;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const NAME: &str = "facts.json";

/// What was found a moment ago, or what `probe` finds now.
pub(crate) fn machine(
    environment: &BTreeMap<OsString, OsString>,
    workspace: &Path,
    probe: impl FnOnce() -> Machine,
) -> Machine {
    let kept = Keeping::new(environment, NAME, key(workspace));
    if let Some(machine) = kept.read() {
        return machine;
    }
    let machine = probe();
    kept.write(&machine);
    machine
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
