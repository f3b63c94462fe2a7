//! What a command finds around it: a machine that works, and nothing of the host's own.

use crate::scene::{Scene, told};
use polder::Sandbox;
use std::fs;

pub(super) fn devices_work(scene: &Scene) {
    let sandbox = scene.sandbox();
    scene.says(&sandbox, "echo x >/dev/null && test -z \"$(cat /dev/null)\"");
    scene.says(&sandbox, "test $(head -c 16 /dev/urandom | wc -c) = 16 && test $(head -c 16 /dev/random | wc -c) = 16");
    scene.says(&sandbox, "test \"$(head -c 4 /dev/zero | od -An -tx1 | tr -d ' ')\" = 00000000");
    let full = scene.fails(&sandbox, "LC_ALL=C dd if=/dev/zero of=/dev/full bs=1 count=1");
    assert!(full.contains("No space left"), "{full}");
    // There is no terminal to open, but the device is there.
    scene.says(&sandbox, "test -c /dev/tty && test -e /dev/ptmx && test -d /dev/pts");
}

pub(super) fn no_disk_no_memory_and_no_kernel_interface_is_a_device(scene: &Scene) {
    let seen = scene.says(&scene.sandbox(), "ls /dev");
    for forbidden in ["mem", "kmem", "kvm", "sda", "vda", "fuse", "loop0", "kmsg"] {
        assert!(!seen.lines().any(|name| name == forbidden), "{forbidden} is visible: {seen}");
    }
}

pub(super) fn the_standard_streams_can_be_opened_by_name(scene: &Scene) {
    // Where new names are watched for, too: without a repository `.git` is.
    for setup in ["true", "git init -q ."] {
        scene.control(&scene.work(), setup);
        let script =
            "echo in | cat /dev/stdin; cat /dev/fd/5 5</dev/null; echo both | tee /dev/stderr; echo out >/dev/stdout";
        let finished = scene.sh(&scene.sandbox(), script);
        assert_eq!(
            (finished.stdout.as_slice(), finished.stderr.as_slice()),
            (&b"in\nboth\nout\n"[..], &b"both\n"[..]),
            "{setup}: {}",
            told(&finished)
        );
        assert!(finished.outcome.success());
    }
}

pub(super) fn terminals_can_be_made(scene: &Scene) {
    let python = "import os,pty\n\
                  m,s = pty.openpty()\n\
                  assert os.isatty(s) and os.ttyname(s).startswith('/dev/pts/'), os.ttyname(s)\n\
                  os.write(m, b'typed\\n')\n\
                  assert os.read(s, 100) == b'typed\\n'\n\
                  print('works')";
    assert_eq!(scene.run(&scene.sandbox(), &["python3", "-c", python]).stdout, b"works\n");
    let finished = scene.run(&scene.sandbox(), &["script", "-qec", "tty", "/dev/null"]);
    let seen = String::from_utf8_lossy(&finished.stdout);
    assert!(seen.starts_with("/dev/pts/"), "{}", told(&finished));
}

pub(super) fn shared_memory_works(scene: &Scene) {
    let python = "import multiprocessing as m\n\
                  from multiprocessing import shared_memory as s\n\
                  m.Lock()\n\
                  b = s.SharedMemory(create=True, size=4096); b.buf[0] = 7; b.close(); b.unlink()\n\
                  print('works')";
    let finished = scene.run(&scene.sandbox(), &["python3", "-c", python]);
    assert_eq!(finished.stdout, b"works\n", "{}", told(&finished));
}

pub(super) fn the_user_has_a_name_a_number_and_a_home(scene: &Scene) {
    let sandbox = scene.sandbox();
    let planned = scene.plan(&sandbox, &["true"]);
    let who = &planned.plan().identity;
    assert_eq!(
        scene.says(&sandbox, "whoami; id -un; id -u; id -g"),
        format!("{0}\n{0}\n{1}\n{2}\n", who.name, who.uid, who.gid)
    );
    let entry = scene.says(&sandbox, "getent passwd $(id -u)");
    assert!(entry.contains(&format!(":{}:", who.home)), "{entry}");
    assert_eq!(scene.says(&sandbox, "id -gn"), format!("{}\n", who.name));
    assert_eq!(scene.says(&sandbox, "echo $HOME $USER"), format!("{} {}\n", who.home, who.name));
    scene.says(&sandbox, "getent passwd root nobody && getent group nogroup");
}

pub(super) fn tls_roots_are_there(scene: &Scene) {
    let python = "import ssl; print(ssl.create_default_context().cert_store_stats()['x509_ca'])";
    let outside = scene.control(&scene.work(), &format!("python3 -c \"{python}\""));
    assert!(outside.trim().parse::<u32>().is_ok_and(|count| count > 10), "the host has no roots: {outside}");
    let finished = scene.run(&scene.sandbox(), &["python3", "-c", python]);
    assert_eq!(String::from_utf8_lossy(&finished.stdout), outside, "{}", told(&finished));
    scene.says(&scene.sandbox(), "test -s /etc/ssl/certs/ca-certificates.crt");
}

pub(super) fn awk_works(scene: &Scene) {
    // It is a chain of links through /etc/alternatives.
    assert_eq!(scene.says(&scene.sandbox(), "awk 'BEGIN { print 6 * 7 }'"), "42\n");
}

pub(super) fn umask_is_kept(scene: &Scene) {
    // One who changes it changes it for itself and for those whom it starts.
    let script = "umask; touch made; (umask 0077; touch own; mkdir dir); touch after; umask 0; touch open";
    let aide = crate::aide::command(scene.engine(), &scene.work(), &["sh", "-c", script]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "umask 0027; exec \"$@\"", "sh"]).arg(aide.get_program()).args(aide.get_args());
    let output = shell.env_clear().envs(scene.environment()).output().expect("an aide");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0027\n", "{output:?}");
    for (name, expected) in [("made", 0o640), ("own", 0o600), ("dir", 0o700), ("after", 0o640), ("open", 0o666)] {
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(scene.work().join(name)).expect(name));
        assert_eq!(mode & 0o777, expected, "{name}: {mode:o}");
    }
}

/// What each way of opening with `O_CREAT` comes to, in a directory that has all that it can meet.
const OPENINGS: &str = r#"
import os, shutil
shutil.rmtree('openings', ignore_errors=True)
os.mkdir('openings'); os.chdir('openings'); os.mkdir('dir'); os.mkfifo('fifo')
open('there', 'w').write('was'); os.symlink('there', 'link'); os.symlink('dir', 'to-dir')
os.symlink('missing', 'dangling'); os.symlink('none/x', 'nowhere'); os.symlink('a', 'b'); os.symlink('b', 'a')
os.symlink(os.getcwd() + '/through', 'absolute')
names = ['new', 'there', 'link', 'dangling', 'nowhere', 'a', 'absolute', 'dir', 'to-dir', 'to-dir/x', 'dir/y', 'dir/', 'there/', 'none/x',
         '.', '..', 'dir/..', '', 'x' * 256, '/dev/null', '/proc/self/comm']
kinds = {'write': os.O_WRONLY, 'read': os.O_RDONLY, 'excl': os.O_WRONLY | os.O_EXCL, 'nofollow': os.O_WRONLY | os.O_NOFOLLOW,
         'trunc': os.O_RDWR | os.O_TRUNC, 'handle': os.O_PATH, 'handle of link': os.O_PATH | os.O_NOFOLLOW}
for kind, flags in kinds.items():
    for name in names:
        try: fd = os.open(name, flags | os.O_CREAT, 0o666)
        except OSError as error: print(kind, name[:9], error.strerror); continue
        mode, size = os.fstat(fd).st_mode, os.fstat(fd).st_size
        print(kind, name[:9], oct(mode), size if mode >> 12 == 8 else None, os.get_blocking(fd))
        os.close(fd)
fd = os.open('fifo', os.O_RDONLY | os.O_NONBLOCK | os.O_CREAT); print('fifo', os.get_blocking(fd))
for top, dirs, files in sorted(os.walk('.')): print(top, sorted(dirs), sorted(files), [oct(os.lstat(top + '/' + f).st_mode) for f in sorted(files)])
"#;

pub(super) fn opening_with_create_means_what_it_does_outside(scene: &Scene) {
    let script = format!("umask 022; {} -c \"$OPENINGS\" </dev/null 2>&1", "/usr/bin/python3");
    let script = format!("OPENINGS='{}'; export OPENINGS; {script}", OPENINGS.replace('\'', "'\\''"));
    let outside = scene.control(&scene.work(), &script);
    assert!(outside.lines().count() > 100, "{outside}");
    let inside = scene.says(&scene.sandbox(), &script);
    for (outside, inside) in outside.lines().zip(inside.lines()) {
        assert_eq!(inside, outside);
    }
    assert_eq!(inside, outside);
}

pub(super) fn the_host_has_a_name_that_resolves(scene: &Scene) {
    let hostname = scene.says(&scene.sandbox(), "uname -n && getent hosts $(uname -n) >/dev/null && cat /etc/hostname");
    let mut lines = hostname.lines();
    assert_eq!(lines.next(), lines.next());
}

pub(super) fn tmp_is_private_and_writable(scene: &Scene) {
    let bait = format!("/tmp/polder-bait-{}", std::process::id());
    fs::write(&bait, "secret").expect("a bait");
    let _guard = Remove(&bait);
    let sandbox = scene.sandbox();
    assert_eq!(scene.control(&scene.work(), &format!("cat {bait}")), "secret");
    scene.fails(&sandbox, &format!("cat {bait}"));
    let made = format!("polder-made-{}", std::process::id());
    scene.says(&sandbox, &format!("echo x >/tmp/{made} && test -f /tmp/{made} && test -O /tmp/{made}"));
    scene.says(&sandbox, &format!("echo x >/var/tmp/{made} && cat /var/tmp/{made}"));
    scene.says(&sandbox, "cp /bin/true /tmp/program && /tmp/program && test -k /tmp && test -w /tmp");
    for place in ["/tmp", "/var/tmp"] {
        assert!(!std::path::Path::new(place).join(&made).exists(), "{place} is the host's");
    }
    scene.says(&sandbox, &format!("test ! -e /tmp/{made}"));
}

/// A file of the host that goes away in any case.
struct Remove<'a>(&'a str);

impl Drop for Remove<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0);
    }
}

fn home_is_empty_and_writable(scene: &Scene, sandbox: &Sandbox) {
    assert_eq!(scene.says(sandbox, "cd && ls -A | wc -l"), "0\n");
    assert_eq!(scene.says(sandbox, "cd && mkdir -p .cache/x && echo made >.cache/x/y && cat ~/.cache/x/y"), "made\n");
}

pub(super) fn home_is_empty_writable_and_not_the_hosts(scene: &Scene) {
    let key = scene.write("home/.ssh/id_ed25519", "secret");
    assert_eq!(scene.control(&scene.work(), "cat ~/.ssh/id_ed25519"), "secret");
    let sandbox = scene.sandbox();
    home_is_empty_and_writable(scene, &sandbox);
    scene.fails(&sandbox, "cat ~/.ssh/id_ed25519");
    scene.fails(&sandbox, &format!("cat {}", key.display()));
    assert!(!scene.home().join(".cache/x").exists(), "the host's home was written");
}

pub(super) fn home_below_tmp_is_empty_and_writable(scene: &Scene) {
    let home = format!("/tmp/polder-home-{}", std::process::id());
    fs::create_dir(&home).expect("a home");
    fs::write(format!("{home}/bait"), "secret").expect("a bait");
    let mut environment = scene.environment();
    environment.retain(|(name, _)| name != "HOME");
    environment.push(("HOME".into(), home.clone().into()));
    let sandbox = scene.sandbox().environment(environment);
    let result = std::panic::catch_unwind(|| home_is_empty_and_writable(scene, &sandbox));
    fs::remove_dir_all(&home).expect("the home");
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

pub(super) fn the_rest_of_the_host_is_invisible(scene: &Scene) {
    let bait = scene.write("beside/bait", "secret");
    let sandbox = scene.sandbox();
    assert_eq!(scene.control(&scene.work(), "cat ../beside/bait"), "secret");
    scene.fails(&sandbox, "cat ../beside/bait");
    scene.fails(&sandbox, &format!("cat {}", bait.display()));
    std::os::unix::fs::symlink(&bait, scene.work().join("link")).expect("a link");
    scene.fails(&sandbox, "cat link");
    for path in [
        "/etc/shadow",
        "/etc/sudoers",
        "/etc/ssh",
        "/root/.bashrc",
        "/sys/kernel",
        "/boot",
        "/var/log",
        "/var/lib/dpkg",
    ] {
        scene.says(&sandbox, &format!("test ! -e {path}"));
    }
}

pub(super) fn the_system_is_read_only(scene: &Scene) {
    let sandbox = scene.sandbox();
    let name = format!("polder-made-{}", std::process::id());
    for place in ["/", "/usr", "/usr/bin", "/etc", "/etc/ssl", "/bin", "/var", "/run", "/dev", "/proc"] {
        scene.fails(&sandbox, &format!("echo x >{place}/{name}"));
    }
    let workspace = format!("rmdir {}", scene.work().display());
    for change in ["rm -f /etc/passwd", "echo x >>/etc/passwd", "mv /usr /usr2", &workspace, "chmod 777 /etc"] {
        scene.fails(&sandbox, change);
    }
    assert_eq!(scene.control(&scene.work(), &format!("echo x >{name} && cat {name}")), "x\n");
}

pub(super) fn the_process_table_is_its_own(scene: &Scene) {
    let own = std::process::id();
    let sandbox = scene.sandbox();
    let command = format!("tr '\\0' ' ' </proc/{own}/cmdline");
    let outside = scene.control(&scene.work(), &command);
    assert!(outside.contains("--case"), "the control sees this process: {outside}");
    // The number may exist inside; this process does not.
    let inside = scene.sh(&sandbox, &command);
    assert!(!String::from_utf8_lossy(&inside.stdout).contains("--case"), "{}", told(&inside));
    let count: usize = scene.says(&sandbox, "ls -d /proc/[0-9]* | wc -l").trim().parse().expect("a number");
    assert!(count <= 5, "{count} processes are visible");
    scene.says(
        &sandbox,
        "test -r /proc/self/status && test -r /proc/cpuinfo && test -r /proc/meminfo && test -e /proc/self/exe",
    );
    scene.fails(&sandbox, &format!("kill -0 {own} 2>/dev/null && test -d /proc/{own}"));
}
