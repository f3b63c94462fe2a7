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

/// Prints the effective uid of a program that is caught while it writes its help into a pipe that is full.
const WATCH: &str = "import fcntl,os,subprocess,sys\n\
    r, w = os.pipe()\n\
    os.set_blocking(w, False)\n\
    try:\n\
    \x20while True: os.write(w, b'x' * 4096)\n\
    except BlockingIOError: pass\n\
    os.set_blocking(w, True)\n\
    p = subprocess.Popen([sys.argv[1], '--help'], stdout=w, stderr=w)\n\
    name = os.path.basename(sys.argv[1])[:15]\n\
    while open(f'/proc/{p.pid}/comm').read().strip() != name: assert p.poll() is None\n\
    print([l.split()[2] for l in open(f'/proc/{p.pid}/status') if l.startswith('Uid')][0])\n\
    sys.stdout.flush(); os.close(w); os.close(r); p.wait()";

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
    let mut outside = Command::new("/usr/bin/python3");
    let outside = outside.args(["-c", WATCH, program]).current_dir(scene.work()).output().expect("python3");
    let seen = String::from_utf8_lossy(&outside.stdout);
    assert!(!seen.is_empty() && *seen != format!("{}\n", caller()), "the control gains an identity: {outside:?}");
    let finished = scene.run(&scene.sandbox(), &["python3", "-c", WATCH, program]);
    assert_eq!(String::from_utf8_lossy(&finished.stdout), expected, "{}", told(&finished));
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
    let all = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/drop_caches",
        "/proc/sysrq-trigger",
    ];
    let there: Vec<_> = all.into_iter().filter(|path| std::path::Path::new(path).exists()).collect();
    assert!(there.len() >= 2, "{there:?}");
    for path in there {
        let script = format!("test ! -e {path} || ! (: >>{path}) 2>/dev/null");
        scene.says(&scene.sandbox(), &script);
        if caller() == 0 {
            scene.control(&scene.work(), &format!(": >>{path}"));
        }
    }
}
