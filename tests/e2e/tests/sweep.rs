//! Files that programs on the host would obey are set aside, whatever the command does about it, and
//! what cannot be set aside keeps the next run from starting.
#![forbid(unsafe_code)]

use polder_e2e::{Held, Place, Said, hold, is_root, until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What the next run would obey, if it were left.
const OPEN: &str = "sandbox: a\\nsandboxes: {a: {limits: {timeout: 1s}}}\\n";

/// A repository, so that the names are set aside at the end and not forbidden.
fn repository() -> Place {
    let place = Place::new();
    git_init(&place);
    place
}

fn git_init(place: &Place) {
    let init = place.command("git").args(["init", "--quiet"]).output().expect("git");
    assert!(init.status.success(), "{init:?}");
}

/// The engines that the machine is said to have; at least the native one.
fn engines() -> Vec<String> {
    let has = std::env::var("POLDER_TEST_HAS").unwrap_or_default();
    let shimmed = ["bubblewrap", "nsjail", "firejail"];
    let more = shimmed.iter().filter(|engine| has.split(',').any(|word| word == **engine));
    ["native"].iter().chain(more).map(|engine| (*engine).to_owned()).collect()
}

/// `run` with an engine, and without the guarantees that it does not give.
fn run_by(engine: &str) -> Vec<&str> {
    let lacking: &[&str] = match engine {
        "firejail" => &["fs", "second-layer", "ipc", "privileges"],
        _ => &[],
    };
    let accepted = lacking.iter().flat_map(|guarantee| ["--accept", guarantee]);
    ["run", "--engine", engine].into_iter().chain(accepted).collect()
}

fn run(place: &Place, engine: &str, script: &str) -> Said {
    place.says(&[&run_by(engine)[..], &["--", "sh", "-c", script]].concat())
}

/// The names in a directory of the workspace that begin so.
fn names(place: &Place, below: &str, begin: &str) -> Vec<String> {
    let entries = fs::read_dir(place.work().join(below)).expect("a directory").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(begin)).collect()
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

fn records(place: &Place) -> usize {
    let directory = place.home().join(".local/state/polder/sweeps");
    fs::read_dir(directory).map_or(0, |entries| entries.flatten().count())
}

/// Ways to keep a file from being renamed, each with the file and what must not stay.
const WAYS: [(&str, &str, &str); 9] = [
    ("a directory has the new name", "mkdir -p polder.yaml.from-sandbox/x", "polder.yaml"),
    ("a file has the new name", "echo mine >polder.yaml.from-sandbox", "polder.yaml"),
    ("a link has the new name", "ln -s / polder.yaml.from-sandbox", "polder.yaml"),
    ("many names are taken", "for i in $(seq 2 300); do mkdir polder.yaml.from-sandbox-$i; done", "polder.yaml"),
    ("the parent cannot be written", "chmod 555 .", "polder.yaml"),
    ("the parent cannot be searched", "chmod 000 .", "polder.yaml"),
    ("the parent is sticky", "chmod 1555 .", "polder.yaml"),
    ("the git directory cannot be written", "chmod 555 .git", ".git/commondir"),
    ("the git directory cannot be searched", "chmod 000 .git", ".git/commondir"),
];

#[test]
fn run_whose_sweep_cannot_be_remembered_is_refused() {
    let place = Place::new();
    assert_eq!(place.sh("git init --quiet").code, 0);
    // A file where the directory would be: root is kept from it as well.
    place.write("home/.local/state", "");
    let said = place.sh("$POLDER run -- touch begun");
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("remedy: set XDG_STATE_HOME"), "{said:?}");
    assert!(!place.work().join("begun").exists(), "the command did not start");
    // Nothing to set aside, nothing to remember.
    assert_eq!(place.sh("$POLDER run --read-only -- true").code, 0);
    let said = place.sh("mkdir ../state; XDG_STATE_HOME=$PWD/../state $POLDER run -- touch begun");
    assert!(said.code == 0 && place.work().join("begun").exists(), "the remedy: {said:?}");
}

#[test]
fn sweep_against_every_obstacle_sets_aside() {
    for engine in engines() {
        for (way, script, file) in WAYS {
            let place = repository();
            let said = run(&place, &engine, &format!("printf '{OPEN}' >{file}; {script}; true"));
            chmod(&place.work(), 0o755);
            chmod(&place.work().join(".git"), 0o755);
            assert_eq!(said.code, 0, "{engine}: {way}: {said:?}");
            assert!(!place.has(format!("work/{file}")), "{engine}: {way}: {said:?}");
            assert!(said.err.contains("set aside"), "{engine}: {way}: {said:?}");
            assert_eq!(records(&place), 0, "{engine}: {way}");
        }
    }
}

#[test]
fn sweep_of_every_kind_of_file_sets_aside() {
    let kinds = [
        ("a directory", "mkdir -p polder.yaml/full; chmod 000 polder.yaml || true"),
        ("a pipe", "mkfifo polder.yaml"),
        ("a link", "ln -s /etc/passwd polder.yaml"),
        ("a socket", "python3 -c 'import socket as s; s.socket(s.AF_UNIX).bind(\"polder.yaml\")'"),
    ];
    for (kind, script) in kinds {
        let place = repository();
        let said = run(&place, "native", script);
        assert_eq!(said.code, 0, "{kind}: {said:?}");
        assert!(!place.has("work/polder.yaml"), "{kind}: {said:?}");
        assert_eq!(names(&place, "", "polder.yaml.from-sandbox").len(), 1, "{kind}");
    }
}

#[test]
fn sweep_after_timeout_and_output_limit_sets_aside() {
    for (flags, rest) in [(["--timeout", "2s"], "sleep 60"), (["--output", "1K"], "cat /dev/zero")] {
        let place = repository();
        let script = format!("printf '{OPEN}' >polder.yaml; mkdir polder.yaml.from-sandbox; chmod 555 .; {rest}");
        let said = place.says(&["run", flags[0], flags[1], "--", "sh", "-c", &script]);
        chmod(&place.work(), 0o755);
        assert_ne!(said.code, 0, "{said:?}");
        assert!(!place.has("work/polder.yaml"), "{said:?}");
        assert_eq!(records(&place), 0);
    }
}

fn signal(signal: &str, pids: &[u32]) {
    let words: Vec<String> = pids.iter().map(u32::to_string).collect();
    Command::new("kill").arg(signal).args(&words).output().expect("kill");
}

/// A run that writes a configuration and waits, while polder is stopped and answers nothing.
fn begin(place: &Place, engine: &str, script: &str) -> std::process::Child {
    let script =
        format!("echo x >started; while ! test -e go; do sleep 0.02; done; printf '{OPEN}' >polder.yaml; {script}");
    let script = hold(&format!("{script}; echo x >written; while :; do sleep 0.05; done"));
    let arguments = [&run_by(engine)[..], &["--", "sh", "-c", &script]].concat();
    let mut command = place.polder(&arguments);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("polder");
    until("the start", || place.has("work/started"));
    signal("-STOP", &[child.id()]);
    place.write("work/go", "");
    child
}

#[test]
fn sweep_after_kill_meets_the_same_obstacles() {
    for engine in engines() {
        let place = repository();
        let held = Held::new(&place);
        let mut child = begin(&place, &engine, "mkdir -p polder.yaml.from-sandbox/x; chmod 555 .git");
        until("the file", || place.has("work/written"));
        assert_eq!(records(&place), 1, "{engine}: the control: a run that goes on has a record");
        child.kill().expect("a kill");
        child.wait().expect("an end");
        held.ended();
        until("the sweep", || !place.has("work/polder.yaml"));
        let said = run(&place, &engine, "true");
        assert_eq!(said.code, 0, "{engine}: {said:?}");
        assert!(!said.err.contains("set aside"), "{engine}: the shim has done it: {said:?}");
        // The first shim may have held its record a moment longer than that run took.
        until("the record to go", || run(&place, &engine, "true").code == 0 && records(&place) == 0);
    }
}

/// Every process below one, deepest first.
fn below(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|word| word.parse().ok());
    children.flat_map(|child| below(child).into_iter().chain([child])).collect()
}

#[test]
fn sweep_after_kill_of_polder_and_shim_is_made_up_for() {
    for engine in engines() {
        let place = repository();
        let held = Held::new(&place);
        let mut child = begin(&place, &engine, "echo ../evil >.git/commondir");
        until("the file", || place.has("work/written"));
        // Stopped first, so that none of them can act when another one is killed.
        let mut pids = below(child.id());
        pids.push(child.id());
        for name in ["-STOP", "-KILL"] {
            signal(name, &pids);
        }
        child.wait().expect("an end");
        held.ended();
        std::thread::sleep(Duration::from_millis(50));
        assert!(place.has("work/polder.yaml"), "{engine}: the control: nothing could set it aside");
        let looked = place.says(&[&run_by(&engine)[..], &["--dry-run", "--", "true"]].concat());
        assert_eq!(looked.code, 125, "{engine}: a plan does not stand on it: {looked:?}");
        assert!(place.has("work/polder.yaml"), "{engine}: a look changes nothing");
        let said = run(&place, &engine, "sleep 1.5");
        assert_eq!(said.code, 0, "{engine}: the file does not count: {said:?}");
        assert!(said.err.contains("set aside as `polder.yaml.from-sandbox`"), "{engine}: {said:?}");
        assert!(!place.has("work/polder.yaml") && !place.has("work/.git/commondir"), "{engine}");
        let again = run(&place, &engine, "true");
        assert_eq!((again.code, records(&place)), (0, 0), "{engine}: {again:?}");
        assert!(!again.err.contains("set aside"), "{engine}: {again:?}");
    }
}

#[test]
fn record_follows_a_tree_that_was_moved() {
    let place = repository();
    let held = Held::new(&place);
    let mut child = begin(&place, "native", "true");
    until("the file", || place.has("work/written"));
    let mut pids = below(child.id());
    pids.push(child.id());
    for name in ["-STOP", "-KILL"] {
        signal(name, &pids);
    }
    child.wait().expect("an end");
    held.ended();
    std::thread::sleep(Duration::from_millis(50));
    fs::create_dir(place.work().join("below")).expect("a directory");
    fs::rename(place.work(), place.dir().join("moved")).expect("moved");
    fs::create_dir(place.work()).expect("a directory");
    let mut command = place.polder(&["run", "--", "sleep", "1.5"]);
    // From below: the file of the tree above would count.
    command.current_dir(place.dir().join("moved/below"));
    let said: Said = command.output().expect("polder").into();
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!place.has("moved/polder.yaml"), "{said:?}");
}

#[test]
fn file_that_cannot_be_set_aside_fails_this_run_and_the_next() {
    let place = repository();
    let held = Held::new(&place);
    let wait = "do sleep 0.02; done";
    let script = format!(
        "echo x >started; while ! test -e start; {wait}; printf '{OPEN}' >polder.yaml; echo x >written
        while ! test -e go; {wait}"
    );
    let mut command = place.polder(&["run", "--", "sh", "-c", &script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder");
    until("the start", || place.has("work/started"));
    signal("-STOP", &[child.id()]);
    place.write("work/start", "");
    until("the file", || place.has("work/written"));
    let file = place.work().join("polder.yaml");
    // No mode helps against a mount point, nor against a directory of another user.
    let obstacle = is_root() && mount(&file);
    signal("-CONT", &[child.id()]);
    place.write("work/go", "");
    let said: Said = child.wait_with_output().expect("an end").into();
    drop(held);
    if !obstacle {
        assert_eq!(said.code, 0, "{said:?}");
        return;
    }
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("could not be set aside") && said.err.contains("remedy:"), "{said:?}");
    assert!(!said.err.contains("set aside /"), "nothing was set aside: {said:?}");
    let refused = run(&place, "native", "echo ran");
    assert_eq!((refused.code, refused.out.as_str()), (125, ""), "{refused:?}");
    assert!(refused.err.contains("polder.yaml") && refused.err.contains("remedy:"), "{refused:?}");
    assert!(Command::new("umount").arg(&file).status().expect("umount").success());
    let said = run(&place, "native", "sleep 1.5");
    assert_eq!(said.code, 0, "it could be set aside: {said:?}");
    assert!(!place.has("work/polder.yaml") && records(&place) == 0, "{said:?}");
}

/// Mounts a file on itself, where the tests may.
fn mount(file: &Path) -> bool {
    Command::new("mount").arg("--bind").args([file, file]).output().is_ok_and(|said| said.status.success())
}

#[test]
fn file_of_a_run_at_work_does_not_count_for_another() {
    let place = repository();
    let held = Held::new(&place);
    let mut child = begin(&place, "native", "true");
    until("the file", || place.has("work/written"));
    let refused = run(&place, "native", "echo ran");
    assert_eq!((refused.code, refused.out.as_str()), (125, ""), "{refused:?}");
    assert!(refused.err.contains("another run works in its tree"), "{refused:?}");
    let elsewhere = Place::new();
    assert_eq!(run(&elsewhere, "native", "true").code, 0, "the control: another tree is free");
    child.kill().expect("a kill");
    child.wait().expect("an end");
    held.ended();
    until("the sweep", || !place.has("work/polder.yaml"));
    assert_eq!(run(&place, "native", "true").code, 0);
}

#[test]
fn configuration_that_is_extended_or_named_cannot_be_written() {
    let place = repository();
    let base = "sandboxes: {a: {limits: {timeout: 9s}}}\n";
    place.write("work/ci/base.yaml", base);
    place.write("work/polder.yaml", "extends: ci/base.yaml\nsandbox: a\n");
    place.write("work/ci/named.yaml", base);
    for (file, flags) in [("ci/base.yaml", &[][..]), ("ci/named.yaml", &["--config", "ci/named.yaml"][..])] {
        let script = format!("echo 'network: {{mode: full}}' >>{file}; mv {file} x; rm -f {file}; mv ci y");
        let arguments: Vec<&str> = ["run"].iter().chain(flags).chain(&["--", "sh", "-c", &script]).copied().collect();
        let said = place.says(&arguments);
        assert_ne!(said.code, 125, "{said:?}");
        assert_eq!(place.read(format!("work/{file}")), base, "{said:?}");
    }
    place.write("work/ci/other.yaml", base);
    assert_eq!(run(&place, "native", "echo >>ci/other.yaml").code, 0, "the control: others can be");
}

/// An index that is closed hides which repositories git enters once the user has opened it again.
#[test]
fn index_that_cannot_be_read_fails_the_run() {
    let place = repository();
    assert_eq!(place.sh("echo x >file && git add file").code, 0);
    let said = run(&place, "native", "chmod 000 .git/index");
    // Root reads it all the same.
    assert_eq!(said.code, if is_root() { 0 } else { 125 }, "{said:?}");
    chmod(&place.work().join(".git/index"), 0o644);
    assert_eq!(run(&place, "native", "true").code, 0, "the control: one that can be read");
}
