//! A machine that offers less: refused with the reason and the remedy, or weaker because the user said so.
#![forbid(unsafe_code)]

use polder_e2e::{Lack, Place, Said, binary, is_root, without};
use serde_json::Value;

fn assert_refused(place: &Place, said: &Said, words: &[&str]) {
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
    assert!(said.err.starts_with("polder: ") && said.err.contains("remedy: "), "{}", said.err);
    for word in words {
        assert!(said.err.contains(word), "`{word}` is missing: {}", said.err);
    }
    assert!(!place.has("work/ran"), "nothing may run");
}

/// The guarantees that the run says it goes without.
fn downgrades(said: &Said) -> Vec<String> {
    let events = said.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let told = events.filter(|event| event["type"] == "downgrade");
    told.map(|event| {
        assert!(event["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{event}");
        event["guarantee"].as_str().unwrap_or_default().to_owned()
    })
    .collect()
}

#[test]
fn nothing_is_the_control() {
    let place = Place::new();
    let said = without(&place, Lack::Nothing, &["run", "--json", "--", "touch", "ran"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(place.has("work/ran") && downgrades(&said).is_empty());
}

#[test]
fn landlock() {
    let place = Place::new();
    let said = without(&place, Lack::Landlock, &["run", "--", "touch", "ran"]);
    assert_refused(&place, &said, &["second-layer", "landlock", "--accept second-layer"]);
    let said = without(&place, Lack::Landlock, &["run", "--json", "--accept", "second-layer", "--", "touch", "ran"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(downgrades(&said), ["second-layer"]);
    assert!(place.has("work/ran"));
    let said = without(&place, Lack::Landlock, &["run", "--accept", "second-layer", "--", "true"]);
    assert!(said.code == 0 && said.err.starts_with("polder: without `second-layer`: "), "{said:?}");
    // What must be enforced cannot be accepted away.
    let both = ["run", "--accept", "second-layer", "--require", "second-layer", "--", "touch", "again"];
    let said = without(&place, Lack::Landlock, &both);
    assert!(said.code == 125 && !place.has("work/again"), "{said:?}");
    let said = without(&place, Lack::Landlock, &["doctor", "--json"]);
    let value: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(value["mechanisms"]["landlock"]["works"], false);
    assert_eq!(value["landlockAbi"], 0);
}

#[test]
fn the_network_of_the_host_without_landlock() {
    // Abstract sockets are then within reach, which is another gap with another name.
    let place = Place::new();
    let flags = ["run", "--network", "full", "--accept", "second-layer", "--", "touch", "ran"];
    assert_refused(&place, &without(&place, Lack::Landlock, &flags), &["ipc", "--accept ipc"]);
}

#[test]
fn seccomp() {
    let place = Place::new();
    let said = without(&place, Lack::Seccomp, &["run", "--", "touch", "ran"]);
    assert_refused(&place, &said, &["syscalls", "seccomp", "--accept syscalls"]);
    let accepting = ["run", "--json", "--accept", "syscalls", "--", "touch", "ran"];
    let said = without(&place, Lack::Seccomp, &accepting);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(downgrades(&said), ["syscalls"]);
    assert!(place.has("work/ran"));
}

#[test]
fn user_namespaces() {
    let place = Place::new();
    let said = without(&place, Lack::UserNamespaces, &["run", "--", "touch", "ran"]);
    assert_refused(&place, &said, &["max_user_namespaces"]);
    // There is nothing to accept: without them there is no sandbox.
    let mut all = vec!["run"];
    for guarantee in ["fs", "protect", "second-layer", "net", "ipc", "processes", "privileges", "syscalls", "pids"] {
        all.extend(["--accept", guarantee]);
    }
    all.extend(["--", "touch", "ran"]);
    let said = without(&place, Lack::UserNamespaces, &all);
    assert!(said.code == 125 && !place.has("work/ran"), "{said:?}");
}

#[test]
fn cgroups() {
    let place = Place::new();
    let said = without(&place, Lack::Cgroups, &["run", "--memory", "100M", "--", "touch", "ran"]);
    assert_refused(&place, &said, &["memory", "cgroup", "each process", "--accept memory"]);
    let said = without(&place, Lack::Cgroups, &["run", "--cpus", "1", "--", "touch", "ran"]);
    assert_refused(&place, &said, &["cpus", "cgroup", "--accept cpus"]);
    let accepting = ["run", "--json", "--memory", "100M", "--accept", "memory", "--", "touch", "ran"];
    let said = without(&place, Lack::Cgroups, &accepting);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(downgrades(&said), ["memory"]);
    // And what can be kept is kept: a process that wants more does not get it.
    let hog = ["run", "--memory", "100M", "--accept", "memory", "--", "python3", "-c", "x = bytearray(300 << 20)"];
    assert_eq!(without(&place, Lack::Cgroups, &hog).code, 1);
    // Nothing was asked for, so nothing is missing.
    assert_eq!(without(&place, Lack::Cgroups, &["run", "--", "true"]).code, 0);
}

#[test]
fn cgroups_of_an_ordinary_user() {
    if is_root() {
        return;
    }
    let place = Place::new();
    let said = place.says(&["run", "--memory", "100M", "--", "touch", "ran"]);
    assert_refused(&place, &said, &["memory", "cgroup", "--accept memory"]);
}

#[test]
fn proc() {
    let place = Place::new();
    let said = without(&place, Lack::Proc, &["run", "--", "touch", "ran"]);
    assert_refused(&place, &said, &["proc", "container"]);
}

#[test]
fn inside_of_a_sandbox_there_is_no_further_one() {
    let place = Place::new();
    let binary = binary().display().to_string();
    let bind = format!("{binary}:/opt/polder");
    let said = place.says(&["run", "--bind", &bind, "--", "/opt/polder", "run", "--", "touch", "ran"]);
    assert_refused(&place, &said, &["inside a polder sandbox"]);
    let said = place.says(&["run", "--bind", &bind, "--", "/opt/polder", "doctor"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("Nothing can contain a command here."), "{said:?}");
}
