//! A crash inside starts no handler of the host's: `core_pattern` can name a program, which the kernel
//! starts as root in its first namespaces whatever a limit of 0 says; see core(5).
#![forbid(unsafe_code)]

use polder_e2e::{Place, is_root, until};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const PATTERN: &str = "/proc/sys/kernel/core_pattern";
/// Told apart from whatever else crashes on this machine meanwhile.
const CRASHES: &str = "polder-crash";

/// The machine's setting, put back also when the test fails.
struct Restored(String);

impl Restored {
    fn set(pattern: &str) -> Self {
        let before = fs::read_to_string(PATTERN).expect("the setting");
        fs::write(PATTERN, pattern).expect("root can write it");
        Self(before)
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        fs::write(PATTERN, &self.0).expect("as it was");
    }
}

#[test]
fn core_limit_inside_is_one_and_stays() {
    let place = Place::new();
    for engine in ["native", "bubblewrap"] {
        let script = "ulimit -c 0; grep 'core file' /proc/self/limits | tr -s ' '";
        let said = place.says(&["run", "--engine", engine, "--", "sh", "-c", script]);
        assert_eq!(said.out.trim(), "Max core file size 1 1 bytes", "{engine}: {said:?}");
    }
}

#[test]
fn core_handler_is_not_started_by_a_crash_inside() {
    if !is_root() {
        // The setting is root's; the limit that holds it off is tested above.
        return;
    }
    let place = Place::new();
    let seen = place.dir().join("seen");
    let handler =
        place.write("handler", format!("#!/bin/sh\n[ \"$1\" = {CRASHES} ] && echo \"$2\" >>{}\n", seen.display()));
    fs::set_permissions(&handler, fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::copy("/bin/sh", place.work().join(CRASHES)).expect("a copy");
    place.write("work/crash", "ulimit -c 0; kill -SEGV $$\n");
    let crash = format!("./{CRASHES} crash");
    let restored = Restored::set(&format!("|{} %e %h", handler.display()));
    let said = place.sh(&format!("$POLDER run -- {crash}; $POLDER run --engine bubblewrap -- {crash}; echo $?"));
    assert_eq!(said.out.trim(), "139", "it crashed: {said:?}");
    // The same crash without a sandbox. The kernel starts handlers one after the other as crashes come.
    place.sh(&crash);
    until("the handler to hear of the control", || seen.exists());
    drop(restored);
    let heard = fs::read_to_string(&seen).expect("the handler's notes");
    assert_eq!(heard.lines().count(), 1, "{heard}: {said:?}");
    assert!(!heard.contains("polder"), "the host name inside: {heard}");
}
