//! Whoever ends polder ends everything that it started.
#![forbid(unsafe_code)]

use polder_e2e::{Held, Place, Said, hold, is_root, until};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn start(place: &Place, flags: &[&str], script: &str) -> Child {
    let mut arguments = vec!["run"];
    arguments.extend(flags);
    arguments.extend(["--", "sh", "-c", script]);
    let mut command = place.polder(&arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder")
}

fn send(child: &Child, signal: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status().expect("sh");
    assert!(status.success());
}

fn finish(child: Child) -> Said {
    child.wait_with_output().expect("an end").into()
}

#[test]
fn a_signal_ends_the_whole_tree_with_128_and_its_number() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3)] {
        let place = Place::new();
        let held = Held::new(&place);
        let child = start(&place, &[], &hold("sleep 600"));
        held.begun(&place);
        send(&child, signal);
        let said = finish(child);
        assert_eq!(said.code, 128 + number, "{signal}: {said:?}");
        assert!(held.is_free(), "{signal}: the daemon lives on");
    }
}

#[test]
fn a_command_that_tidies_up_keeps_its_own_code() {
    let place = Place::new();
    let child = start(&place, &[], "trap 'echo tidy >done; exit 7' TERM; echo x >begun; while :; do sleep 0.05; done");
    until("the command", || place.has("work/begun"));
    send(&child, "TERM");
    assert_eq!(finish(child).code, 7);
    assert_eq!(place.read("work/done"), "tidy\n");
}

/// Ignores requests before anybody can see that it began.
fn deaf() -> String {
    format!("trap '' INT TERM; {}", hold("while :; do sleep 600; done"))
}

#[test]
fn a_command_that_ignores_the_request_is_killed_at_the_second_one() {
    let place = Place::new();
    let held = Held::new(&place);
    let child = start(&place, &[], &deaf());
    held.begun(&place);
    send(&child, "INT");
    send(&child, "TERM");
    let said = finish(child);
    assert_eq!(said.code, 130, "{said:?}");
    assert!(held.is_free(), "the daemon lives on");
}

#[test]
fn a_signal_at_the_very_end_does_not_take_the_place_of_the_outcome() {
    for _ in 0..10 {
        let place = Place::new();
        let mut child = start(&place, &[], "trap 'exit 7' INT; echo x >begun; while :; do sleep 0.01; done");
        until("the command", || place.has("work/begun"));
        send(&child, "INT");
        // Those that come while the command lives are the second request, which kills; those after it change nothing.
        let end = loop {
            match child.try_wait().expect("a look") {
                Some(end) => break end,
                None => send(&child, "TERM"),
            }
        };
        assert!(matches!(end.code(), Some(7 | 130)), "{end:?}");
    }
}

#[test]
fn a_command_that_ignores_the_request_is_killed_after_a_while() {
    let place = Place::new();
    let held = Held::new(&place);
    let child = start(&place, &[], &deaf());
    held.begun(&place);
    send(&child, "TERM");
    let said = finish(child);
    assert_eq!(said.code, 143, "{said:?}");
    assert!(held.is_free(), "the daemon lives on");
}

#[test]
fn a_kill_of_polder_ends_the_whole_tree() {
    let place = Place::new();
    let held = Held::new(&place);
    let mut child = start(&place, &[], &hold("sleep 600"));
    held.begun(&place);
    child.kill().expect("a kill");
    assert_eq!(child.wait().expect("an end").signal(), Some(9));
    held.ended();
}

#[test]
fn what_git_would_obey_is_set_aside_also_when_polder_is_killed_before_it_can() {
    let place = Place::new();
    let init = place.command("git").args(["init", "--quiet"]).current_dir(place.work()).status();
    assert!(init.expect("git").success());
    let held = Held::new(&place);
    let wait = "do sleep 0.05; done";
    let script = hold(&format!(
        "echo x >started; while ! test -e start; {wait}
        echo /evil >.git/commondir; echo x >written; while ! test -e go; {wait}"
    ));
    let mut child = start(&place, &[], &script);
    until("the start", || place.has("work/started"));
    // Polder cannot look at what its command makes, and is killed before it ever does.
    send(&child, "STOP");
    place.write("work/start", "");
    until("the redirect", || place.has("work/written"));
    assert!(place.has("work/.git/commondir"), "the control: a polder that does not run keeps nothing away");
    place.write("work/go", "");
    held.ended();
    // The end is told within moments of the daemon's; told or not, the redirect must go.
    std::thread::sleep(Duration::from_millis(300));
    child.kill().expect("a kill");
    assert_eq!(child.wait().expect("an end").signal(), Some(9));
    until("the setting aside", || !place.has("work/.git/commondir"));
}

fn cgroups_of(pid: u32, dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if entry.file_name().to_string_lossy().starts_with(&format!("polder-{pid}-")) {
                found.push(entry.path());
            }
            found.extend(cgroups_of(pid, &entry.path()));
        }
    }
    found
}

#[test]
fn what_a_killed_polder_left_is_swept_by_the_next() {
    let root = Path::new("/sys/fs/cgroup");
    let place = Place::new();
    let held = Held::new(&place);
    // Only root can make cgroups on this kind of machine; for others there is nothing to sweep.
    let flags: &[&str] = if is_root() { &["--memory", "1G"] } else { &[] };
    let mut child = start(&place, flags, &hold("sleep 600"));
    held.begun(&place);
    let pid = child.id();
    let made = cgroups_of(pid, root);
    assert!(!made.is_empty() || !is_root(), "the control: a run with a memory limit has a cgroup");
    child.kill().expect("a kill");
    child.wait().expect("an end");
    held.ended();
    assert_eq!(finish(start(&place, flags, "true")).code, 0);
    until("the sweep", || cgroups_of(pid, root).is_empty());
}

#[test]
fn a_run_leaves_no_cgroup() {
    let place = Place::new();
    let child = start(&place, &["--pids", "50"], "true");
    let pid = child.id();
    assert_eq!(finish(child).code, 0);
    assert!(cgroups_of(pid, Path::new("/sys/fs/cgroup")).is_empty());
}

#[test]
fn a_timeout_is_124_and_says_so() {
    let place = Place::new();
    let held = Held::new(&place);
    let said = finish(start(&place, &["--timeout", "3s"], &hold("sleep 600")));
    assert_eq!(said.code, 124, "{said:?}");
    assert_eq!(said.err, "polder: timed out after 3s; --timeout 6s lets it run longer\n");
    assert!(place.has("work/held") && held.is_free(), "the daemon lives on");
}

#[test]
fn a_signal_to_the_whole_group_ends_it_as_well() {
    // Ctrl-C in a terminal reaches polder's group; the command is in another and must not be hit twice.
    let place = Place::new();
    let script =
        "trap 'echo x >>count' INT; echo x >begun; while ! test -e count; do sleep 0.05; done; sleep 0.3; exit 9";
    let child = start(&place, &[], script);
    until("the command", || place.has("work/begun"));
    send(&child, "INT");
    assert_eq!(finish(child).code, 9);
    assert_eq!(place.read("work/count"), "x\n");
}
