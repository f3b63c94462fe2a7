//! The record of what ran: what is in it, what happens when it cannot be written, and what `verify` finds.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said, is_root};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;

const LOG: &str = "home/.local/state/polder/audit";

fn place(user: &str) -> Place {
    let place = Place::new();
    place.write("home/.config/polder/polder.yaml", user);
    place
}

fn records(place: &Place) -> Vec<Value> {
    let said = place.says(&["audit", "export"]);
    assert_eq!(said.code, 0, "{said:?}");
    said.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn verified(place: &Place) -> Said {
    place.says(&["audit", "verify"])
}

#[test]
fn a_run_in_a_sandbox_is_recorded_only_when_a_file_asks_for_it() {
    let silent = Place::new();
    assert_eq!(silent.says(&["run", "--", "true"]).code, 0);
    assert!(!silent.has(LOG), "a record costs more than the sandbox does");
    let asked = place("audit: required\n");
    assert_eq!(asked.says(&["run", "--", "sh", "-c", "exit 3 # a-word-of-the-command"]).code, 3);
    let records = records(&asked);
    assert_eq!(records.len(), 2);
    let (begin, end) = (&records[0]["data"], &records[1]["data"]);
    assert_eq!((&records[0]["kind"], &records[1]["kind"]), (&"run-begin".into(), &"run-end".into()));
    assert_eq!((&end["begin"], &end["outcome"]["exitCode"]), (&1.into(), &3.into()));
    assert_eq!(
        (begin["engine"].as_str(), begin["report"]["fs"].as_str(), begin["words"].as_u64()),
        (Some("native"), Some("enforced"), Some(3))
    );
    assert_eq!(begin["policy"].as_str().map(str::len), Some(64));
    // The plan is the one that the same call shows beforehand.
    let shown = asked.says(&["run", "--dry-run", "--json", "--", "sh", "-c", "exit 3 # a-word-of-the-command"]);
    let shown: Value = serde_json::from_str(&shown.out).expect("JSON");
    assert!(shown["hash"].is_string(), "{shown}");
    assert_eq!(begin["plan"], shown["hash"]);
    let other = asked.says(&["run", "--dry-run", "--json", "--", "true"]);
    assert_ne!(begin["plan"], serde_json::from_str::<Value>(&other.out).expect("JSON")["hash"], "the control");
    // The text of a command is nobody's business later.
    assert!(!asked.says(&["audit", "export"]).out.contains("a-word-of-the-command"));
    assert_eq!(verified(&asked).code, 0);
    let shown = asked.says(&["audit", "show"]).out;
    assert!(shown.contains("run-begin") && shown.contains("of 1: exit code 3"), "{shown}");
}

#[test]
fn a_run_without_a_sandbox_and_an_accepted_gap_are_always_recorded() {
    for audit in ["", "audit: off\n"] {
        let place = place(&format!("allow_unsandboxed: true\n{audit}"));
        assert_eq!(place.says(&["run", "--engine", "none", "--", "true"]).code, 0);
        let records = records(&place);
        assert_eq!((records.len(), records[0]["data"]["class"].as_str()), (2, Some("none")), "{records:?}");
        assert!(!records[0]["data"]["accepted"].as_array().expect("a list").is_empty());
    }
}

#[test]
fn what_cannot_be_recorded_does_not_start_where_that_is_required() {
    for (name, spoil) in [
        (
            "a full disk",
            (|place: &Place| {
                fs::create_dir_all(place.dir().join(LOG)).expect("a directory");
                set_private(place);
                symlink("/dev/full", place.dir().join(LOG).join("audit.jsonl")).expect("a link");
            }) as fn(&Place),
        ),
        ("a file in its place", |place: &Place| drop(place.write(LOG, ""))),
        ("a directory for everybody", |place: &Place| fs::create_dir_all(place.dir().join(LOG)).expect("a directory")),
    ] {
        let required = place("audit: required\n");
        spoil(&required);
        let said = required.says(&["run", "--", "touch", "ran"]);
        assert_eq!(said.code, 125, "{name}: {said:?}");
        assert!(said.err.contains("cannot be recorded, so it does not start"), "{name}: {}", said.err);
        let remedies = ["; it needs room, and a directory that you can write", "; make it 0700"];
        assert!(remedies.iter().any(|remedy| said.err.contains(remedy)), "{name}: {}", said.err);
        assert!(!required.has("work/ran"), "{name}");
        let best_effort = place("audit: best_effort\n");
        spoil(&best_effort);
        let said = best_effort.says(&["run", "--", "touch", "ran"]);
        assert_eq!(said.code, 0, "{name}: {said:?}");
        assert!(said.err.contains("cannot be recorded") && best_effort.has("work/ran"), "{name}: {}", said.err);
        // Without a sandbox a run is recorded or does not start, unless somebody said otherwise.
        let none = place("allow_unsandboxed: true\n");
        spoil(&none);
        let said = none.says(&["run", "--engine", "none", "--", "touch", "ran"]);
        assert!(said.code == 125 && !none.has("work/ran"), "{name}: {said:?}");
    }
}

#[test]
fn steps_that_cannot_be_recorded_say_so_and_an_end_counts_as_strictly_as_a_beginning() {
    // What the log is closed for: others can enter it.
    let open = place("audit: best_effort\n");
    fs::create_dir_all(open.dir().join(LOG)).expect("a directory");
    open.write("work/polder.yaml", "steps: {a: {exec: 'touch ran'}}\n");
    for arguments in [&["steps"][..], &["steps", "--json"]] {
        let said = open.says(arguments);
        assert!(said.code == 0 && open.has("work/ran"), "{said:?}");
        assert_eq!((said.out + &said.err).matches("the run cannot be recorded: ").count(), 1, "{arguments:?}");
    }
    // A command without a sandbox spoils the log in its middle.
    for (mode, code) in [("best_effort", 0), ("required", 125)] {
        for verb in ["run", "steps"] {
            let place = place(&format!("allow_unsandboxed: true\naudit: {mode}\n"));
            let spoil = format!("touch ran; echo >{}", place.dir().join(LOG).join("head").display());
            place.write("work/polder.yaml", format!("steps: {{a: {{exec: '{spoil}', sandbox: none}}}}\n"));
            let said = match verb {
                "run" => place.says(&["run", "--engine", "none", "--", "sh", "-c", &spoil]),
                _ => place.says(&["steps", "--trust"]),
            };
            assert_eq!(said.code, code, "{mode} {verb}: {said:?}");
            assert!(place.has("work/ran"), "{mode} {verb}: it ran");
            assert!(said.err.contains("its end cannot be recorded"), "{mode} {verb}: {said:?}");
            assert!(!said.err.contains("does not start"), "{mode} {verb}: {said:?}");
        }
    }
}

fn set_private(place: &Place) {
    let said = place.sh(&format!("chmod 700 ../{LOG}"));
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn a_project_has_no_say_in_it() {
    let place = place("");
    place.write("work/polder.yaml", "audit: off\n");
    let said = place.says(&["run", "--trust", "--", "true"]);
    assert!(said.code == 125 && said.err.contains("`audit` counts in a system or user file only"), "{said:?}");
}

#[test]
fn many_processes_write_one_chain_and_every_change_of_it_is_found() {
    let place = place("audit: required\n");
    let children: Vec<_> = (0..8).map(|_| place.polder(&["run", "--", "true"]).spawn().expect("polder")).collect();
    for mut child in children {
        assert!(child.wait().expect("polder").success());
    }
    let said = verified(&place);
    assert!(said.code == 0 && said.out.starts_with("ok: 16 records"), "{said:?}");
    let log = format!("{LOG}/audit.jsonl");
    let whole = place.read(&log);
    let lines: Vec<&str> = whole.lines().collect();
    let changed = |lines: Vec<&str>| lines.join("\n") + "\n";
    for (name, text, finding) in [
        ("edit", whole.replacen("run-end", "run-enD", 1), "was changed"),
        ("deletion", changed([&lines[..3], &lines[4..]].concat()), "record 4 is missing"),
        ("truncation", changed(lines[..10].to_vec()), "the log ends at record 10, and record 16 was written"),
        ("reorder", changed([&lines[..2], &[lines[3], lines[2]], &lines[4..]].concat()), "belongs elsewhere"),
    ] {
        place.write(&log, text);
        let said = verified(&place);
        assert!(said.code == 1 && said.out.contains(finding), "{name}: {said:?}");
        place.write(&log, &whole);
        assert_eq!(verified(&place).code, 0, "{name}: the control");
    }
    let said = place.says(&["audit", "verify", "--head", &"0".repeat(64), "--json"]);
    let answer: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((said.code, &answer["ok"], &answer["records"]), (1, &false.into(), &16.into()));
}

#[test]
fn the_log_is_out_of_reach_from_inside_also_when_it_lies_in_the_workspace() {
    let place = place("audit: required\n");
    assert_eq!(place.says(&["run", "--", "true"]).code, 0);
    let around = place.home().join(".local").display().to_string();
    let attack = "cat state/polder/audit/audit.jsonl; rm -rf state/polder/audit; mv state/polder state/away; echo x >> state/polder/audit/audit.jsonl; true";
    let said = place.says(&["run", "-C", &around, "--", "sh", "-c", attack]);
    assert!(!said.out.contains("run-begin"), "{said:?}");
    let said = verified(&place);
    assert!(said.code == 0 && said.out.starts_with("ok: 4 records"), "{said:?}");
    // The control: outside the same commands read it and remove it.
    let said = place.sh(&format!("cd {around} && {attack}"));
    assert!(said.out.contains("run-begin") && !place.has(format!("{LOG}/head")), "{said:?}");
}

/// The one anchor in the home directory of a place.
fn anchor(place: &Place) -> std::path::PathBuf {
    let anchors = fs::read_dir(place.home().join(".local/share/polder/audit-anchors")).expect("anchors");
    let found: Vec<_> = anchors.map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn log_cut_with_its_note_or_removed_is_not_whole() {
    let place = place("audit: required\n");
    for _ in 0..2 {
        assert_eq!(place.says(&["run", "--", "true"]).code, 0);
    }
    let keep = |name: &str| assert_eq!(place.sh(&format!("cp -a ../{LOG} ../{name}")).code, 0);
    let put = |name: &str| assert_eq!(place.sh(&format!("rm -rf ../{LOG}; cp -a ../{name} ../{LOG}")).code, 0);
    keep("early");
    assert_eq!(place.says(&["run", "--", "true"]).code, 0);
    keep("late");
    let said = verified(&place);
    assert!(said.code == 0 && said.out.starts_with("ok: 6 records"), "{said:?}");
    // The end of the log, together with the note of it.
    put("early");
    let said = verified(&place);
    assert!(said.code == 1 && said.out.contains("ends at record 4, and its anchor names record 6"), "{said:?}");
    let said = place.says(&["run", "--", "touch", "ran"]);
    assert!(said.code == 125 && !place.has("work/ran"), "{said:?}");
    assert!(said.err.contains("ends at 4, and 6 was its last record"), "{said:?}");
    // All of it.
    assert_eq!(place.sh(&format!("rm -rf ../{LOG}")).code, 0);
    let said = verified(&place);
    assert!(said.code == 1 && said.out.contains("the log is gone or empty"), "{said:?}");
    put("late");
    assert_eq!(verified(&place).code, 0, "the control");
}

#[test]
fn anchor_that_is_removed_is_found_and_recorded() {
    let place = place("audit: required\n");
    assert_eq!(place.says(&["run", "--", "true"]).code, 0);
    fs::remove_file(anchor(&place)).expect("an anchor");
    let said = verified(&place);
    assert!(said.code == 1 && said.out.contains("the anchor of the log is missing"), "{said:?}");
    assert_eq!(place.says(&["run", "--", "true"]).code, 0);
    let said = verified(&place);
    assert!(said.code == 0 && said.out.starts_with("ok: 5 records"), "{said:?}");
    let shown = place.says(&["audit", "show"]).out;
    assert!(shown.contains("the anchor was gone after record 2"), "{shown}");
}

/// Log and anchor of an earlier day are whole; only a head that was kept elsewhere tells.
#[test]
fn rollback_of_both_is_found_by_a_printed_head() {
    let place = place("audit: required\n");
    assert_eq!(place.says(&["run", "--", "true"]).code, 0);
    let both = format!("../{LOG} {}", anchor(&place).parent().expect("a directory").display());
    assert_eq!(place.sh(&format!("tar -cf ../both.tar -P {both}")).code, 0);
    assert_eq!(place.says(&["run", "--", "true"]).code, 0);
    let head = place.says(&["audit", "head"]).out.trim().to_owned();
    assert!(head.starts_with("4:") && head.len() == 66, "{head}");
    assert_eq!(place.says(&["audit", "verify", "--head", &head]).code, 0);
    assert_eq!(place.sh(&format!("rm -rf {both}; tar -xf ../both.tar -P")).code, 0);
    assert_eq!(verified(&place).code, 0, "nothing on this machine tells");
    let said = place.says(&["audit", "verify", "--head", &head]);
    assert!(said.code == 1 && said.out.contains("is not in the log"), "{said:?}");
    let wrong = place.says(&["audit", "verify", "--head", "4:abc"]);
    assert!(wrong.code != 0 && wrong.err.contains("is no hash"), "{wrong:?}");
}

#[test]
fn the_anchor_is_out_of_reach_from_inside() {
    let place = place("audit: required\n");
    assert_eq!(place.says(&["run", "--", "true"]).code, 0);
    let before = fs::read(anchor(&place)).expect("an anchor");
    let around = place.home().join(".local").display().to_string();
    let attack = "cat share/polder/audit-anchors/*; rm -rf share/polder/audit-anchors; mv share/polder share/away; \
                  for f in share/*/audit-anchors/*.json; do echo x >$f; done; true";
    let said = place.says(&["run", "-C", &around, "--", "sh", "-c", attack]);
    assert!(!said.out.contains("hash"), "{said:?}");
    assert!(
        verified(&place).code == 0 && fs::read(anchor(&place)).expect("an anchor") != before,
        "the run is anchored"
    );
    let control = place.sh(&format!("cd {around} && {attack}"));
    assert!(control.out.contains("hash") && verified(&place).code == 1, "{control:?}");
}

#[test]
fn steps_are_recorded_like_runs() {
    let place = place("audit: required\n");
    place.write(
        "work/polder.yaml",
        "steps: {a: {exec: 'true'}, b: {exec: 'exit 1'}, c: {exec: 'true', depends_on: b}}\n",
    );
    assert_eq!(place.says(&["steps"]).code, 1);
    assert_eq!(records(&place).len(), 4, "two ran");
    assert_eq!(verified(&place).code, 0);
}

/// A shell text in which the place of the log is a file system of its own, full to the last byte; `fill` and `empty` change that.
fn on_a_full_disk(script: &str) -> String {
    let inner = format!(
        "set -e; log=../{LOG}; mkdir -p $log; mount -t tmpfs -o size=64k,mode=700 none $log; \
         fill() {{ dd if=/dev/zero of=$log/fill bs=1k 2>/dev/null || true; }}; empty() {{ rm $log/fill; }}; set +e; {script}"
    );
    format!("export POLDER LOG; unshare --mount sh -c '{inner}'")
}

#[test]
fn a_log_on_a_full_disk_takes_nothing_and_nothing_is_done() {
    // Only root can make a file system and fill it; the run of the tests as root is the one that counts here.
    if !is_root() {
        return;
    }
    let script = on_a_full_disk(
        "$POLDER run -- touch one; echo $?; fill; $POLDER run -- touch two; echo $?; \
         empty; $POLDER run -- touch three; echo $?; $POLDER audit verify",
    );
    let required = place("audit: required\n");
    let said = required.sh(&script);
    assert!(said.out.starts_with("0\n125\n0\nok: 4 records"), "{said:?}");
    assert!(said.err.contains("No space left on device"), "{said:?}");
    assert_eq!(required.names(), ["one", "three"], "what could not be recorded did not start");
    let best_effort = place("audit: best_effort\n");
    let said = best_effort.sh(&script);
    assert!(said.out.starts_with("0\n0\n0\nok: "), "{said:?}");
    assert_eq!(said.err.matches("cannot be recorded").count(), 1, "{said:?}");
    assert_eq!(best_effort.names(), ["one", "three", "two"]);
}

fn changed(place: &Place) {
    place.write("work/kept", "old\n");
    let said = place.says(&["run", "--workspace", "w", "--", "sh", "-c", "echo new >kept; echo x >added"]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn an_apply_and_its_revert_are_recorded_with_their_paths_before_they_happen() {
    let place = place("audit: required\n");
    changed(&place);
    assert_eq!(place.says(&["workspace", "apply", "w"]).code, 0);
    assert_eq!(place.says(&["workspace", "revert", "w"]).code, 0);
    let records = records(&place);
    let deeds: Vec<_> =
        records.iter().filter(|record| record["kind"] == "apply").map(|record| &record["data"]).collect();
    assert_eq!(deeds.len(), 2, "{records:?}");
    assert_eq!((deeds[0]["verb"].as_str(), deeds[1]["verb"].as_str()), (Some("apply"), Some("revert")));
    for deed in deeds {
        assert_eq!((&deed["workspace"], &deed["count"]), (&"w".into(), &2.into()));
        assert_eq!(deed["paths"], serde_json::json!(["added", "kept"]));
    }
    let shown = place.says(&["audit", "show"]).out;
    assert!(shown.contains("apply of w, 2 paths") && shown.contains("revert of w, 2 paths"), "{shown}");
    assert_eq!(verified(&place).code, 0);
}

#[test]
fn going_on_with_an_interrupted_apply_and_taking_it_back_is_recorded() {
    for (flag, verb) in [("--resume", "resume"), ("--abort", "abort")] {
        let place = place("audit: required\n");
        changed(&place);
        assert_eq!(place.says(&["workspace", "apply", "w"]).code, 0);
        // As a crash leaves it that comes last of all: everything is in place, and the journal is still open.
        let crashed =
            place.sh("cd ../home/.local/state/polder && find . -name applied -execdir mv applied journal ';' -print");
        assert_eq!(crashed.out.lines().count(), 1, "{crashed:?}");
        assert_eq!(place.says(&["workspace", "apply", "w", flag]).code, 0);
        let records = records(&place);
        let last = records.iter().rfind(|record| record["kind"] == "apply").expect("a record");
        assert_eq!((&last["data"]["verb"], &last["data"]["count"]), (&verb.into(), &2.into()), "{last}");
        // Where there is nothing to do there is nothing to record.
        assert_eq!(place.says(&["workspace", "apply", "w", flag]).code, 0);
        assert_eq!(self::records(&place).len(), records.len());
    }
}

#[test]
fn an_apply_that_cannot_be_recorded_does_not_happen_where_that_is_required() {
    for (audit, applied) in [("audit: required\n", false), ("audit: best_effort\n", true), ("", true)] {
        let place = place("");
        changed(&place);
        place.write("home/.config/polder/polder.yaml", audit);
        // In the place of the directory there is a file.
        place.write(LOG, "");
        let said = place.says(&["workspace", "apply", "w"]);
        assert_eq!((said.code == 0, place.read("work/kept") == "new\n"), (applied, applied), "{audit}: {said:?}");
        assert_eq!(said.err.contains("it cannot be recorded"), !audit.is_empty(), "{audit}: {said:?}");
        if !applied {
            assert!(said.code == 125 && !place.has("work/added"), "{said:?}");
        }
    }
}

#[test]
fn trust_and_what_goes_beyond_a_protection_is_recorded_without_being_asked_for() {
    let place = place("");
    place.write("work/polder.yaml", "sandboxes: {s: {bind_paths: [{host: ~/secret}]}}\nsandbox: s\n");
    place.write("home/secret/x", "");
    assert_eq!(place.says(&["trust"]).code, 0);
    assert_eq!(place.says(&["trust"]).code, 0, "the second time nothing is given");
    assert_eq!(place.says(&["trust", "--revoke"]).code, 0);
    let records = records(&place);
    let verbs: Vec<_> = records.iter().map(|record| (&record["kind"], &record["data"]["verb"])).collect();
    assert_eq!(verbs, [(&"grant".into(), &"trust".into()), (&"grant".into(), &"revoke".into())]);
    assert!(records[0]["data"]["asks"][0].as_str().is_some_and(|ask| ask.contains("secret")), "{records:?}");
}

#[test]
fn a_run_is_recorded_with_its_grants_and_the_file_of_its_project() {
    let place = place("audit: required\n");
    place.write("work/polder.yaml", "sandbox: s\nsandboxes: {s: {}}\n");
    place.write("home/more/x", "");
    let grant = format!("fs.read={}", place.home().join("more").display());
    assert_eq!(place.says(&["run", "--allow", &grant, "--", "true"]).code, 0);
    let begin = &records(&place)[0]["data"];
    assert_eq!(begin["granted"], serde_json::json!([grant]));
    assert_eq!(begin["project"].as_str().map(str::len), Some(64), "{begin}");
}
