//! Records of runs, and `polder explain`: what is kept, what is never kept, and who can see it.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

const RUNS: &str = "home/.local/state/polder/runs";

fn record(place: &Place) -> Value {
    let said = place.says(&["explain", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    serde_json::from_str(&said.out).expect("JSON")
}

#[test]
fn a_run_that_was_denied_something_is_told_by_rule_and_layer_with_its_plan() {
    let place = Place::new();
    let file = place.write("other/data", "seen\n").display().to_string();
    let script = format!("cat {file} {file}; unshare -U true; : a-word-of-the-command");
    for engine in ["native", "bubblewrap"] {
        let said = place.says(&["run", "--engine", engine, "--observe", "exact", "--", "sh", "-c", &script]);
        assert_eq!(said.code, 0, "{said:?}");
        let record = record(&place);
        assert_eq!(record["engine"]["id"], engine);
        assert_eq!((record["command"]["name"].as_str(), record["command"]["words"].as_u64()), (Some("sh"), Some(3)));
        let told = record["violations"].as_array().expect("violations");
        let read = told.iter().find(|violation| violation["target"] == file.as_str()).expect("the file");
        assert_eq!((&read["action"], read["count"].as_u64()), (&"file-read".into(), Some(2)), "{read}");
        assert!(told.iter().any(|violation| violation["target"] == "unshare"), "{told:?}");
        let said = place.says(&["explain"]);
        for part in [
            "denied by the mount namespace",
            "denied by seccomp",
            "rule: the path is not shown inside",
            &format!("allow: --allow fs.read={file}"),
            "nothing allows this inside a sandbox",
            "enforced by",
            "network     none",
            "observe     exact",
        ] {
            assert!(said.out.contains(part), "{part} is missing: {}", said.out);
        }
        let text = fs::read_to_string(
            place.dir().join(RUNS).join(format!("{}.json", record["run"].as_str().expect("a name"))),
        );
        let text = text.expect("a record");
        assert!(!text.contains("a-word-of-the-command"), "the text of a command is nobody's business later: {text}");
    }
    let said = place.says(&["explain", "--list"]);
    assert_eq!(said.out.lines().count(), 2, "{said:?}");
    let newest = said.out.split_whitespace().next().expect("a name").to_owned();
    assert_eq!(record(&place)["run"], newest.as_str());
    assert!(place.says(&["explain", &newest]).out.contains(&newest));
    let said = place.says(&["explain", "ffff-1-0"]);
    assert!(said.code == 125 && said.err.contains("no record of a run `ffff-1-0`"), "{said:?}");
}

#[test]
fn a_quiet_run_leaves_nothing_and_a_failed_one_says_what_was_not_looked_at() {
    let place = Place::new();
    assert_eq!(place.says(&["run", "--", "true"]).code, 0);
    assert!(!place.has(RUNS), "nothing is written for a run that has nothing to explain");
    let said = place.says(&["explain"]);
    assert!(said.code == 125 && said.err.contains("no run to explain"), "{said:?}");
    assert_eq!(place.says(&["run", "--", "false"]).code, 1);
    let said = place.says(&["explain"]);
    assert!(said.code == 0 && said.out.contains("exit code 1"), "{said:?}");
    assert!(said.out.contains("nothing was seen") && said.out.contains("`polder again` sees them"), "{said:?}");
}

#[test]
fn names_that_a_command_chose_reach_no_terminal() {
    let place = Place::new();
    let script = r#"python3 -c '
import os
for name in ("/opt/\x1b]0;owned\x07", "/opt/a\nplan fake"):
    try: os.mkdir(name)
    except OSError: pass
'"#;
    place.says(&["run", "--", "sh", "-c", &format!("{script}; false")]);
    let said = place.says(&["explain"]);
    assert!(!said.out.contains(['\u{1b}', '\u{7}']) && !said.out.contains("\nplan fake"), "{said:?}");
    let said = place.says(&["explain", "--json"]);
    assert!(said.out.lines().count() == 1 && !said.out.contains('\u{1b}'), "{said:?}");
}

#[test]
fn a_credential_is_in_no_record() {
    let place = Place::new();
    place.write(
        "home/.config/polder/polder.yaml",
        "sandboxes:\n  a:\n    credentials: [{name: github, source: env:MY_TOKEN, hosts: [github.com], via: environment}]\nsandbox: a\n",
    );
    let mut polder = place.polder(&["run", "--", "sh", "-c", "mkdir /opt/$GITHUB_TOKEN; false"]);
    let said: Said = polder.env("MY_TOKEN", "ghp_0123456789abcdef").output().expect("polder").into();
    assert_eq!(said.code, 1, "{said:?}");
    let record = record(&place).to_string();
    assert!(!record.contains("ghp_0123456789abcdef"), "{record}");
    assert!(record.contains("credential") || record.contains("GITHUB_TOKEN"), "the control, its name: {record}");
}

#[test]
fn records_are_closed_to_others_bounded_and_out_of_reach_from_inside() {
    let place = Place::new();
    assert_eq!(place.says(&["run", "--", "sh", "-c", "exit 3"]).code, 3);
    let runs = place.dir().join(RUNS);
    let mode = |path: &std::path::Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    let file = fs::read_dir(&runs).expect("runs").next().expect("a record").expect("a record").path();
    assert_eq!((mode(&runs), mode(&file)), (0o700, 0o600));
    let before = fs::read(&file).expect("a record");
    let around = place.home().join(".local").display().to_string();
    let attack = "cat state/polder/runs/*; rm -rf state/polder/runs; mv state/polder state/away; \
                  for f in state/polder/runs/*; do echo x >> $f; done; true";
    // Also where the home directory is a link, and the workspace is not.
    let linked = place.dir().join("linked");
    symlink(place.home(), &linked).expect("a link");
    for home in [place.home(), linked] {
        let mut polder = place.polder(&["run", "-C", &around, "--", "sh", "-c", attack]);
        let said: Said = polder.env("HOME", &home).output().expect("polder").into();
        assert!(said.code == 0 && !said.out.contains("exitCode"), "{said:?}");
        assert_eq!(fs::read(&file).expect("still there"), before);
    }
    // The control: outside the same commands read it and remove it.
    let said = place.sh(&format!("cd {around} && {attack}"));
    assert!(said.out.contains("exitCode") && !file.exists(), "{said:?}");
}

#[test]
fn a_record_that_cannot_be_kept_is_said_and_the_run_is_none_the_worse() {
    let place = Place::new();
    place.write(RUNS, "a file in its place");
    let said = place.says(&["run", "--", "sh", "-c", "echo did it; exit 3"]);
    assert_eq!((said.code, said.out.as_str()), (3, "did it\n"));
    assert!(said.err.contains("`polder explain` will not know this run"), "{said:?}");
}

#[test]
fn nothing_is_added_to_a_run_and_the_flag_of_a_new_one_is_named() {
    let place = Place::new();
    let file = place.write("other/data", "seen\n").display().to_string();
    let grant = format!("fs.read={file}");
    let said = place.says(&["run", "--json", "--observe", "exact", "--", "cat", &file]);
    let event: Value = serde_json::from_str(said.out.lines().next().expect("an event")).expect("JSON");
    let run = event["run"].as_str().expect("a name");
    let said = place.says(&["grant", run, &grant, "--for", "10m"]);
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
    assert!(
        said.err.contains("is over; it needs a new run") && said.err.contains(&format!("--allow {grant}")),
        "{said:?}"
    );
    assert_eq!(place.says(&["run", "--allow", &grant, "--", "cat", &file]).out, "seen\n", "the flag does it");
    let said = place.says(&["grant", "ffff-1-0", &grant, "--once", "--json"]);
    let told: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((said.code, &told["granted"]), (125, &false.into()), "{said:?}");
    for wrong in [&["grant", run, "fs.raed=/x"][..], &["grant", run, &grant, "--for", "soon"]] {
        assert_eq!(place.says(wrong).code, 125);
    }
    let said = place.says(&["grant", run, "fs.read=/root/.ssh/id_rsa"]);
    assert!(said.err.contains("risk: it holds keys"), "{said:?}");
}

/// A hint that does not help is worse than none.
#[test]
fn what_polder_keeps_is_lifted_by_no_grant_and_none_is_named() {
    let place = Place::new();
    let state = place.work().join(".state");
    let run = |flags: &[&str]| -> Said {
        // The record of the run before is in it.
        let _ = fs::remove_dir_all(&state);
        let mut polder = place.polder(&[&["run"], flags, &["--", "touch", ".state/polder/x"]].concat());
        polder.env("XDG_STATE_HOME", &state).output().expect("polder").into()
    };
    let said = run(&["--allow", "fs.write=.state"]);
    assert!(said.code != 0, "{said:?}");
    let said = run(&[]);
    assert!(said.err.contains("no grant lifts it") && !said.err.contains("--allow"), "{said:?}");
    // The control: the same path, where polder keeps nothing.
    assert_eq!(place.says(&["run", "--", "touch", ".state/polder/x"]).code, 0);
}

#[test]
fn a_step_leaves_a_record_too() {
    let place = Place::new();
    place.write("work/polder.yaml", "steps: {a: {exec: 'true'}, b: {exec: 'mkdir /opt/x'}}\n");
    assert_eq!(place.says(&["steps"]).code, 1);
    assert_eq!(place.says(&["explain", "--list"]).out.lines().count(), 1);
}

/// What programs of the host obey, and what makes a command the user, is told with the reason and not offered.
#[test]
fn explain_offers_no_hook_and_no_key() {
    let place = Place::new();
    assert!(place.command("git").args(["init", "-q"]).status().expect("git").success());
    let key = place.write("home/.ssh/id_ed25519", "").display().to_string();
    let data = place.write("other/data", "").display().to_string();
    let script = format!("echo x > .git/hooks/pre-commit; cat {key} {data}");
    let said = place.says(&["run", "--observe", "exact", "--", "sh", "-c", &script]);
    assert!(said.code != 0 && !said.err.contains(&format!("--allow fs.read={key}")), "{said:?}");
    assert!(said.err.contains("no grant is offered: it holds keys"), "{said:?}");
    let story = place.says(&["explain"]).out;
    let offered = story.lines().find(|line| line.starts_with("  --allow ")).expect("what has no risk");
    assert_eq!(offered.trim(), format!("--allow fs.read={data}"), "{story}");
    assert!(story.contains("not offered: fs.write=.git/hooks (it lifts a protection"), "{story}");
}
