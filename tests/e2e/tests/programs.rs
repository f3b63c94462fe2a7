//! An engine that is a program of its own: found where only its owner can have put it, believed nothing, and gone when
//! polder is.
#![forbid(unsafe_code)]

use polder_e2e::{Held, Place, Said, hold, until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};

const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// A directory of programs that every user can reach, also the one that root becomes.
struct Programs(PathBuf);

impl Programs {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = PathBuf::from(format!("/var/tmp/polder-e2e-programs.{}.{count}", std::process::id()));
        fs::create_dir(&dir).expect("a directory");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("a mode");
        Self(dir)
    }

    /// A script in the engine's place.
    fn with(script: &str) -> Self {
        let programs = Self::new();
        let path = programs.0.join("bwrap");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        programs
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a command with the engine, with these directories on PATH.
fn run(place: &Place, path: &str, command: &[&str]) -> Said {
    let arguments = [&["run", "--engine", "bubblewrap", "--"], command].concat();
    place.polder(&arguments).env("PATH", path).output().expect("polder").into()
}

/// Runs a command that must not run, with a script in front of the real program.
fn refused(script: &str) -> String {
    let (place, programs) = (Place::new(), Programs::with(script));
    let said = run(&place, &format!("{}:{SYSTEM}", programs.0.display()), &["touch", "ran"]);
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
    assert!(!place.has("work/ran"), "something ran: {said:?}");
    assert!(said.err.contains(&programs.0.join("bwrap").display().to_string()), "it is not named: {said:?}");
    said.err
}

#[test]
fn the_real_one_runs_a_command() {
    let place = Place::new();
    let said = run(&place, SYSTEM, &["sh", "-c", "echo made >file; cat /proc/sys/kernel/hostname; exit 7"]);
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (7, "polder\n", ""), "{said:?}");
    assert_eq!(place.read("work/file"), "made\n");
}

#[test]
fn one_that_fails_is_an_error() {
    let said = refused("exit 1");
    assert!(said.contains("`--version` ended with exit status: 1") && said.contains("remedy"), "{said}");
}

#[test]
fn one_that_talks_nonsense_is_an_error() {
    let said = refused("echo hello");
    assert!(said.contains("it is not bubblewrap: it says \"hello\""), "{said}");
    let said = refused("echo bubblewrap 0.4.1");
    assert!(said.contains("version 0.4.1 is older than"), "{said}");
}

#[test]
fn one_that_hangs_is_an_error() {
    let said = refused("exec sleep 600");
    assert!(said.contains("does not say its version"), "{said}");
}

#[test]
fn one_that_ends_without_a_word_is_an_error() {
    let said = refused("[ \"$1\" = --version ] && echo bubblewrap 0.8.0");
    assert!(said.contains("a trial failed: it ended before it started anything"), "{said}");
}

#[test]
fn one_that_starts_the_command_without_a_sandbox_is_noticed() {
    let bare = "[ \"$1\" = --version ] && echo bubblewrap 0.8.0 && exit; while [ \"$1\" != -- ]; do shift; done; shift";
    let said = refused(&format!("{bare}; exec \"$@\""));
    assert!(said.contains("find a ground of its own"), "{said}");
    // A pid namespace alone is not enough.
    let said = refused(&format!("{bare}; exec unshare --user --map-root-user --pid --fork \"$@\""));
    assert!(said.contains("find a ground of its own"), "{said}");
}

#[test]
fn one_in_the_workspace_is_skipped_and_said_to_be() {
    let place = Place::new();
    let planted = place.write("work/bin/bwrap", "#!/bin/sh\ntouch /var/tmp/polder-e2e-planted-ran\nexit 1\n");
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o755)).expect("a mode");
    let path = format!("{}:{SYSTEM}", planted.parent().expect("a directory").display());
    let said = run(&place, &path, &["echo", "ran"]);
    assert_eq!((said.code, said.out.as_str()), (0, "ran\n"), "{said:?}");
    assert!(!Path::new("/var/tmp/polder-e2e-planted-ran").exists(), "the planted one ran");
    let doctor: Said = place.polder(&["doctor"]).env("PATH", &path).output().expect("polder").into();
    let told = format!("`{}` is not used: a sandboxed command could have written it", planted.display());
    assert!(doctor.out.contains(&told), "{}", doctor.out);
}

#[test]
fn a_setuid_one_is_never_used() {
    let programs = Programs::new();
    let copy = programs.0.join("bwrap");
    fs::copy("/usr/bin/bwrap", &copy).expect("a copy");
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).expect("a mode");
    let place = Place::new();
    let said = run(&place, &programs.0.display().to_string(), &["/usr/bin/touch", "ran"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("it is setuid or setgid") && said.err.contains("engine `native`"), "{}", said.err);
    assert!(!place.has("work/ran"), "something ran");
}

#[test]
fn none_at_all_is_an_error_that_says_how_to_get_one() {
    let (place, programs) = (Place::new(), Programs::new());
    let said = run(&place, &programs.0.display().to_string(), &["/usr/bin/touch", "ran"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("engine `bubblewrap` does not work here: there is no `bwrap` on PATH"), "{}", said.err);
    assert!(said.err.contains("install bubblewrap"), "{}", said.err);
    assert!(said.err.contains("engine `native`, which works here"), "{}", said.err);
    assert!(!place.has("work/ran"), "something ran");
}

#[test]
fn a_kill_of_polder_ends_program_shim_and_command() {
    let place = Place::new();
    let held = Held::new(&place);
    let script = hold("sleep 600");
    let mut command = place.polder(&["run", "--engine", "bubblewrap", "--", "sh", "-c", &script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder");
    held.begun(&place);
    let children = descendants(child.id());
    assert!(children.len() >= 3, "bwrap, the shim and the command: {children:?}");
    child.kill().expect("a kill");
    child.wait().expect("an end");
    until("everything is gone", || children.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()));
    assert!(held.is_free(), "the daemon lives on");
}

#[test]
fn no_variable_and_no_path_of_the_policy_is_on_a_command_line() {
    let place = Place::new();
    let script = "touch begun; while [ ! -e end ]; do sleep 0.02; done";
    let arguments = ["run", "--engine", "bubblewrap", "--env", "TOKEN=s3cret", "--", "sh", "-c", script];
    let mut child = place.polder(&arguments).spawn().expect("polder");
    until("the command", || place.has("work/begun"));
    let mut seen = String::new();
    for pid in descendants(child.id()) {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        if line.starts_with("bwrap") || line.contains("polder-shim") {
            seen += &line;
            seen += &String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/environ")).unwrap_or_default());
        }
    }
    place.write("work/end", "");
    assert!(child.wait().expect("an end").success());
    assert!(seen.contains("--args"), "bwrap was not found: {seen:?}");
    assert!(!seen.contains("s3cret") && !seen.contains(&place.dir().display().to_string()), "{seen:?}");
}

/// Everyone whom a process started, and everyone whom those started.
fn descendants(ancestor: u32) -> Vec<u32> {
    let mut found = vec![ancestor];
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name is in brackets and may contain anything; the parent is the second field behind it.
            Some((pid, stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?))
        })
        .collect();
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, its)| *its == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}
