//! `polder workspace`, used as people use it.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

/// A place whose tree has a few files.
fn place() -> Place {
    let place = Place::new();
    let lines: String = (1..40).map(|line| format!("line {line}\n")).collect();
    place.write("work/lines.txt", &lines);
    place.write("work/gone.txt", "gone\n");
    place.write("work/dir/moved.txt", "this moves\n");
    place
}

/// Runs a shell text over the tree, in a workspace of this name.
fn run(place: &Place, name: &str, script: &str) -> Said {
    let said = place.says(&["run", "--workspace", name, "--", "sh", "-c", script]);
    assert_eq!(said.code, 0, "{said:?}");
    said
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

const CHANGES: &str = "sed -i 's/^line 5$/five/; s/^line 30$/thirty/' lines.txt; rm gone.txt; mv dir/moved.txt dir/here.txt; echo new > new.txt";

#[test]
fn the_tree_changes_only_when_it_is_applied() {
    let place = place();
    let before = place.read("work/lines.txt");
    run(&place, "task", CHANGES);
    assert_eq!(place.read("work/lines.txt"), before);
    assert!(place.has("work/gone.txt") && !place.has("work/new.txt"));
    let said = place.says(&["workspace", "apply"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(place.read("work/lines.txt").contains("five\n"));
    assert!(!place.has("work/gone.txt") && place.has("work/new.txt") && place.has("work/dir/here.txt"));
    let said = place.says(&["workspace", "revert"]);
    assert_eq!((said.code, place.read("work/lines.txt")), (0, before), "{said:?}");
    assert!(place.has("work/gone.txt") && !place.has("work/new.txt") && place.has("work/dir/moved.txt"));
}

#[test]
fn a_path_that_names_no_change_is_told() {
    let place = place();
    run(&place, "task", CHANGES);
    for verb in ["diff", "apply"] {
        let said = place.says(&["workspace", verb, "--path", "new.txt", "--path", "dri/new.txt"]);
        assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
        assert!(said.err.contains("`--path dri/new.txt` names no change; changed are `new.txt`;"), "{said:?}");
        let said = place.says(&["workspace", verb, "--path", "*.rs"]);
        assert!(said.code == 125 && said.err.contains("`gone.txt`"), "{said:?}");
    }
    assert!(!place.has("work/new.txt"), "something was applied");
    let said = place.says(&["workspace", "apply", "--path", "*.txt"]);
    assert!(said.code == 0 && place.has("work/new.txt"), "the control: {said:?}");
}

#[test]
fn every_verb_speaks_json() {
    let place = place();
    run(&place, "task", CHANGES);
    let list = json(&place.says(&["workspace", "list", "--json"]));
    assert_eq!(list["workspaces"][0]["name"], "task");
    assert_eq!(list["workspaces"][0]["state"], "changed");
    let diff = json(&place.says(&["workspace", "diff", "--json"]));
    let changes = diff["changes"].as_array().expect("changes");
    let whats: Vec<_> = changes.iter().map(|change| (change["path"].as_str(), change["what"].as_str())).collect();
    let expected =
        [("dir/here.txt", "renamed"), ("gone.txt", "deleted"), ("lines.txt", "modified"), ("new.txt", "added")];
    assert_eq!(whats, expected.map(|(path, what)| (Some(path), Some(what))));
    assert_eq!(changes[0]["from"], "dir/moved.txt");
    assert_eq!(changes[2]["text"].as_array().map(Vec::len), Some(2), "two hunks");
    let applied = json(&place.says(&["workspace", "apply", "--path", "new.txt", "--json"]));
    assert_eq!(applied["changes"][3]["verdict"], "applied");
    assert_eq!(applied["changes"][0]["verdict"], "not chosen");
    let reverted = json(&place.says(&["workspace", "revert", "--json"]));
    assert_eq!(reverted["reverted"], serde_json::json!(["new.txt"]));
    let nothing = json(&place.says(&["workspace", "apply", "--resume", "--json"]));
    assert_eq!(nothing["state"], "nothing was interrupted");
    let gone = json(&place.says(&["workspace", "discard", "--json"]));
    assert_eq!(gone["state"], "discarded");
    assert_eq!(json(&place.says(&["workspace", "list", "--json"]))["workspaces"], serde_json::json!([]));
}

#[test]
fn one_hunk_can_be_taken() {
    let place = place();
    run(&place, "task", CHANGES);
    let said = place.says(&["workspace", "apply", "--hunk", "lines.txt:2"]);
    assert_eq!(said.code, 0, "{said:?}");
    let text = place.read("work/lines.txt");
    assert!(text.contains("line 5\n") && text.contains("thirty\n") && !place.has("work/new.txt"), "{text}");
    for wrong in ["lines.txt:9", "lines.txt", "lines.txt:x", "../x:1", "missing:1"] {
        let said = place.says(&["workspace", "apply", "--hunk", wrong]);
        assert_eq!(said.code, 125, "{wrong}: {said:?}");
    }
}

/// `apply -p` with these answers.
fn answered(place: &Place, answers: &str) -> Said {
    let mut command = place.polder(&["workspace", "apply", "-p"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("polder");
    child.stdin.take().expect("stdin").write_all(answers.as_bytes()).expect("answers");
    child.wait_with_output().expect("polder").into()
}

#[test]
fn questions_are_answered_piece_by_piece() {
    let place = place();
    run(&place, "task", CHANGES);
    // The rename, the deletion, two hunks, the new file.
    let said = answered(&place, "n\n?\ny\nn\ny\ny\n");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("leave this out"), "`?` explains: {}", said.err);
    let text = place.read("work/lines.txt");
    assert!(text.contains("line 5\n") && text.contains("thirty\n"), "{text}");
    assert!(!place.has("work/gone.txt") && place.has("work/new.txt") && place.has("work/dir/moved.txt"));
}

#[test]
fn what_no_answer_takes_is_not_asked_about_and_told_in_the_end() {
    let place = place();
    run(&place, "task", "echo agent > lines.txt; echo new > new.txt; echo x > .envrc");
    place.write("work/lines.txt", "mine");
    // One question, about the new file.
    let said = answered(&place, "y\n");
    assert_eq!(said.code, 1, "{said:?}");
    for told in ["conflict lines.txt", "applied new.txt", "held back .envrc", "--force PATH", "--include-held PATH"] {
        assert!(said.out.contains(told), "{told}: {said:?}");
    }
    assert_eq!((place.read("work/lines.txt").as_str(), said.err.matches("?").count()), ("mine", 2), "{said:?}");
}

#[test]
fn what_was_not_answered_is_not_done() {
    let place = place();
    run(&place, "task", CHANGES);
    for answers in ["", "q\n", "n\nn\nd\nn\n"] {
        let said = answered(&place, answers);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(place.has("work/gone.txt") && !place.has("work/new.txt"), "{answers:?}");
    }
    let said = answered(&place, "n\nn\na\nq\n");
    assert!(said.code == 0 && place.read("work/lines.txt").contains("five\n"), "{said:?}");
}

#[test]
fn a_conflict_is_exit_code_1_and_leaves_the_hosts_version() {
    let place = place();
    run(&place, "task", "echo theirs > gone.txt");
    place.write("work/gone.txt", "mine\n");
    let said = place.says(&["workspace", "apply"]);
    assert!(said.code == 1 && said.out.contains("conflict gone.txt"), "{said:?}");
    assert_eq!(place.read("work/gone.txt"), "mine\n");
    assert_eq!(place.says(&["workspace", "apply", "--force", "gone.txt"]).code, 0);
    assert_eq!(place.read("work/gone.txt"), "theirs\n");
}

#[test]
fn nothing_speaks_to_the_terminal() {
    let place = place();
    run(&place, "task", r#"printf '\033]0;title\007' > "$(printf 'na\033[31mme')"; printf 'a\342\200\256b' > bidi"#);
    for verb in [&["workspace", "diff"][..], &["workspace", "diff", "--stat"], &["workspace", "apply"]] {
        let said = place.says(verb);
        assert!(!said.out.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{said:?}");
        assert!(said.out.contains("na\\u{1b}[31mme"), "{said:?}");
    }
}

#[test]
fn a_workspace_that_is_not_there_is_polders_failure() {
    let place = place();
    for (arguments, word) in [
        (&["workspace", "diff"][..], "polder run --cow"),
        (&["workspace", "diff", "nobody"], "workspace list"),
        (&["workspace", "diff", "../x"], "not a name"),
        (&["workspace", "revert", "nobody"], "workspace list"),
    ] {
        let said = place.says(arguments);
        assert!(said.code == 125 && said.err.contains(word), "{arguments:?}: {said:?}");
    }
    assert_eq!(place.says(&["workspace", "list"]).code, 0);
}

#[test]
fn an_unnamed_workspace_gets_a_name_and_the_newest_is_meant() {
    let place = place();
    for text in ["first", "second"] {
        let said = place.says(&["run", "--cow", "--", "sh", "-c", &format!("echo {text} > new.txt")]);
        assert_eq!(said.code, 0, "{said:?}");
    }
    assert_eq!(place.says(&["workspace", "list"]).out.lines().count(), 2);
    place.says(&["workspace", "apply"]);
    assert_eq!(place.read("work/new.txt"), "second\n");
}

#[test]
fn yes_to_a_directory_is_not_yes_to_what_is_in_it() {
    let place = place();
    run(&place, "task", "mkdir d; echo evil > d/evil.sh; echo ok > d/ok.txt");
    let said = answered(&place, "y\nn\nn\n");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(place.has("work/d") && !place.has("work/d/evil.sh") && !place.has("work/d/ok.txt"), "{said:?}");
    let said = answered(&place, "n\ny\n");
    assert!(said.code == 0 && !place.has("work/d/evil.sh") && place.has("work/d/ok.txt"), "{said:?}");
}

#[test]
fn nobody_runs_in_a_workspace_while_somebody_answers() {
    let place = place();
    run(&place, "task", "echo seen > new.txt");
    let mut command = place.polder(&["workspace", "apply", "-p"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut asking = command.spawn().expect("polder");
    // The first byte of the question: from here on somebody has seen the change.
    let mut first = [0_u8; 1];
    asking.stderr.as_mut().expect("stderr").read_exact(&mut first).expect("a question");
    let other = place.says(&["run", "--workspace", "task", "--", "sh", "-c", "echo evil > new.txt"]);
    assert!(other.code == 125 && other.err.contains("in use"), "{other:?}");
    asking.stdin.take().expect("stdin").write_all(b"y\n").expect("an answer");
    let said: Said = asking.wait_with_output().expect("polder").into();
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(place.read("work/new.txt"), "seen\n");
}

/// The first processes of the sandboxes that a process has started.
fn children(pid: u32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

fn signal(signal: &str, pid: &str) {
    let status = std::process::Command::new("kill").args([signal, pid]).status().expect("kill");
    assert!(status.success(), "{signal} {pid}");
}

#[test]
fn a_workspace_is_free_when_nobody_can_write_to_it_any_more() {
    let place = place();
    run(&place, "task", "echo seen > new.txt");
    let mut command = place.polder(&["run", "--json", "--workspace", "task", "--", "sleep", "1000"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = command.spawn().expect("polder");
    // Until polder has heard that the command runs, the first process inside is killed with it, and nobody is late.
    let mut events = BufReader::new(running.stdout.take().expect("stdout")).lines().map(|line| line.expect("an event"));
    assert!(events.any(|event| event.contains("\"type\":\"ready\"")), "the command is up");
    let inside = children(running.id());
    // Those that end the sandbox when polder is gone are late.
    inside.iter().for_each(|pid| signal("-STOP", pid));
    running.kill().expect("kill");
    running.wait().expect("wait");
    let early = place.says(&["workspace", "apply", "task"]);
    inside.iter().for_each(|pid| signal("-CONT", pid));
    assert!(!inside.is_empty() && early.code == 125 && early.err.contains("in use"), "{inside:?} {early:?}");
    assert!(!place.has("work/new.txt"));
    while inside.iter().any(|pid| std::path::Path::new("/proc").join(pid).exists()) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let late = place.says(&["workspace", "apply", "task"]);
    assert!(late.code == 0 && place.has("work/new.txt"), "{late:?}");
}

#[test]
fn a_killed_run_that_was_to_leave_nothing_leaves_nothing_for_long() {
    let place = place();
    let mut command = place.polder(&["run", "--discard", "--", "sh", "-c", "echo x > new; echo up; exec sleep 1000"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = command.spawn().expect("polder");
    running.stdout.as_mut().expect("stdout").read_exact(&mut [0_u8; 3]).expect("the command is up");
    let count = || json(&place.says(&["workspace", "list", "--json"]))["workspaces"].as_array().map(Vec::len);
    assert_eq!(count(), Some(1), "it is there while the command runs");
    running.kill().expect("kill");
    running.wait().expect("wait");
    polder_e2e::until("the end of the workspace", || count() == Some(0));
    let store = std::fs::read_dir(place.home().join(".local/state/polder/workspaces")).expect("the store");
    assert_eq!(store.count(), 0);
}

#[test]
fn a_workspace_of_another_tree_is_named_and_left_alone() {
    let place = place();
    run(&place, "task", "echo x > new");
    place.write("other/file", "");
    let other = place.dir().join("other").display().to_string();
    for verb in ["discard", "apply", "revert"] {
        let said = place.says(&["workspace", verb, "task", "-C", &other]);
        let hint = format!("-C {}", std::fs::canonicalize(place.work()).expect("the tree").display());
        assert!(said.code == 125 && said.err.contains(&hint), "{verb}: {said:?}");
    }
    let looked = place.says(&["workspace", "diff", "task", "-C", &other]);
    assert_eq!(looked.code, 0, "{looked:?}");
    assert_eq!(place.says(&["workspace", "discard", "task"]).code, 0);
}

#[test]
fn one_damaged_workspace_is_no_reason_to_refuse_the_others() {
    let place = place();
    run(&place, "hurt", "echo x > new");
    run(&place, "fine", "echo x > new");
    let store = place.home().join(".local/state/polder/workspaces");
    let found = std::fs::read_dir(store).expect("the store").map(|entry| entry.expect("an entry").path());
    let hurt = found.into_iter().find(|path| path.to_string_lossy().contains("/hurt.")).expect("the workspace");
    std::fs::write(hurt.join("about.json"), "").expect("damage");
    let list = place.says(&["workspace", "list"]);
    assert!(list.code == 0 && list.out.contains("fine") && list.out.contains("hurt is damaged"), "{list:?}");
    assert_eq!(place.says(&["workspace", "apply"]).code, 0);
    let said = place.says(&["run", "--workspace", "hurt", "--", "true"]);
    assert!(said.code == 125 && said.err.contains("discard hurt"), "{said:?}");
    assert_eq!(place.says(&["workspace", "discard", "hurt"]).code, 0);
    assert_eq!(place.says(&["run", "--workspace", "hurt", "--", "true"]).code, 0);
}

/// What a diff printed as its digest.
fn digest_of(place: &Place) -> String {
    let said = place.says(&["workspace", "diff", "w"]);
    let line = said.err.lines().find_map(|line| line.strip_prefix("polder: digest "));
    let digest = line.unwrap_or_else(|| panic!("no digest: {said:?}")).to_owned();
    let json = place.says(&["workspace", "diff", "w", "--json"]);
    let told: Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(told["digest"].as_str(), Some(digest.as_str()), "{json:?}");
    digest
}

#[test]
fn apply_with_a_digest_takes_what_was_reviewed() {
    let place = Place::new();
    place.write("work/kept", "old\n");
    let run = |script: &str| assert_eq!(place.says(&["run", "--workspace", "w", "--", "sh", "-c", script]).code, 0);
    run("echo good >kept; echo x >added");
    let digest = digest_of(&place);
    // A later run in the same workspace, with the same size and the same mtime.
    run("touch -r kept /tmp/then; echo evil >kept; touch -r /tmp/then kept");
    let said = place.says(&["workspace", "apply", "w", "--digest", &digest]);
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
    assert!(said.err.contains("nothing was applied") && said.err.contains("polder workspace diff w"), "{said:?}");
    assert_eq!((place.read("work/kept"), place.has("work/added")), ("old\n".to_owned(), false));
    let said = place.says(&["workspace", "apply", "w", "--digest", &digest_of(&place)]);
    assert_eq!((said.code, place.read("work/kept").as_str()), (0, "evil\n"), "{said:?}");
    let wrong = place.says(&["workspace", "apply", "w", "--digest", "abc"]);
    assert!(wrong.code != 0 && wrong.err.contains("64 hexadecimal letters"), "{wrong:?}");
}

#[test]
fn apply_without_a_digest_says_what_changed_since_the_diff() {
    let place = Place::new();
    let run = |script: &str| assert_eq!(place.says(&["run", "--workspace", "w", "--", "sh", "-c", script]).code, 0);
    let told = |said: &Said| said.err.contains("changed since the last `polder workspace diff`");
    run("echo good >file");
    let undiffed = place.says(&["workspace", "apply", "w", "--path", "file"]);
    assert!(undiffed.code == 0 && !told(&undiffed), "no diff was looked at: {undiffed:?}");
    run("echo better >file");
    digest_of(&place);
    let same = place.says(&["workspace", "apply", "w"]);
    assert!(same.code == 0 && !told(&same), "{same:?}");
    run("echo best >file");
    digest_of(&place);
    run("echo evil >file");
    let said = place.says(&["workspace", "apply", "w"]);
    assert!(said.code == 0 && told(&said), "{said:?}");
    assert_eq!(place.read("work/file"), "evil\n");
}
