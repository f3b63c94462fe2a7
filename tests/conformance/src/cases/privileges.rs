//! The command gains nothing.

use crate::scene::{Scene, told};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

fn caller() -> u32 {
    fs::metadata("/proc/self").expect("/proc/self").uid()
}

pub(super) fn the_command_has_no_capability(scene: &Scene) {
    let status = scene.says(&scene.sandbox(), "cat /proc/self/status");
    for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        assert!(line.ends_with("0000000000000000"), "{line}");
    }
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let finished = scene.sh(&scene.sandbox(), "mount -t tmpfs x /tmp || unshare -Ur true || chroot / true");
    assert_ne!(finished.outcome.exit_code(), 0, "{}", told(&finished));
}

/// Prints the effective uid of a process that is waiting for its input.
fn watch(program: &str) -> String {
    format!(
        "mkfifo /tmp/in.$$; {program} </tmp/in.$$ >/dev/null 2>&1 & exec 9>/tmp/in.$$; \
         while ! grep -qs {} /proc/$!/comm; do test -d /proc/$! || exit 9; done; \
         awk '/^Uid/ {{ print $3 }}' /proc/$!/status; rm -f /tmp/in.$$; exec 9>&-; kill -9 $! 2>/dev/null; :",
        program.rsplit('/').next().unwrap_or_default()
    )
}

pub(super) fn a_setuid_program_gains_nothing(scene: &Scene) {
    let expected = scene.says(&scene.sandbox(), "id -u");
    let program = if caller() == 0 {
        // For root, a program of somebody else; gaining it would be losing the mapping.
        let copy = scene.work().join("setuid-cat");
        fs::copy("/bin/cat", &copy).expect("a copy");
        assert!(Command::new("chown").arg("1001").arg(&copy).status().expect("chown").success());
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).expect("rights");
        "./setuid-cat"
    } else {
        "/usr/bin/passwd"
    };
    let outside = scene.control(&scene.work(), &watch(program));
    assert_ne!(outside, format!("{}\n", caller()), "the control gains an identity: {outside}");
    assert_eq!(scene.says(&scene.sandbox(), &watch(program)), expected);
}

pub(super) fn setuid_bits_cannot_be_made(scene: &Scene) {
    let attempts = [
        "cp /bin/true made && chmod u+s made",
        "cp /bin/true made && chmod 2755 made",
        "python3 -c \"import os; os.close(os.open('made', os.O_CREAT | os.O_WRONLY, 0o4755))\"",
        "cp /bin/true made && python3 -c \"import os; os.fchmod(os.open('made', os.O_RDONLY), 0o4755)\"",
        "install -m 4755 /bin/true made",
    ];
    for attempt in attempts {
        let made = |dir: &std::path::Path| fs::metadata(dir.join("made")).map_or(0, |made| made.mode() & 0o6000);
        let copy = scene.dir().join("copy");
        fs::create_dir(&copy).expect("a copy");
        scene.control(&copy, attempt);
        assert_ne!(made(&copy), 0, "the control `{attempt}` sets a bit");
        fs::remove_dir_all(&copy).expect("the copy");
        let finished = scene.sh(&scene.sandbox(), attempt);
        assert_eq!(made(&scene.work()), 0, "`{attempt}`: {}", told(&finished));
        let _ = fs::remove_file(scene.work().join("made"));
    }
}

pub(super) fn kernel_settings_cannot_be_written(scene: &Scene) {
    // As the host's uid 0 these are writable without any capability.
    for path in ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger"] {
        let script = format!("test ! -e {path} || ! (: >>{path}) 2>/dev/null");
        scene.says(&scene.sandbox(), &script);
        if caller() == 0 {
            scene.control(&scene.work(), &format!(": >>{path}"));
        }
    }
}
