//! `polder again`: what the default does not watch is said after a failed run, and seen by a second one that changes nothing.
#![forbid(unsafe_code)]

use polder_e2e::{Place, on_a_terminal};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const ENGINES: [&str; 2] = ["native", "bubblewrap"];
const HINT: &str = "polder: reads were not watched (observe: cheap); to see what was denied: polder again\n";

#[test]
fn failed_run_says_how_to_see_what_was_not_watched() {
    let place = Place::new();
    let file = place.write("other/data", "seen\n").display().to_string();
    let said = place.says(&["run", "--", "sh", "-c", &format!("cat {file} 2>/dev/null")]);
    assert!(said.code == 1 && said.err == HINT, "{said:?}");
    // Where it was watched, what was denied is told instead.
    let said = place.says(&["run", "--observe", "exact", "--", "sh", "-c", &format!("cat {file} 2>/dev/null")]);
    assert!(said.err.contains(&format!("blocked read of {file}")) && !said.err.contains("again"), "{said:?}");
    // Many programs end with 1 to say no: off a terminal only a hidden path is a reason to speak.
    assert_eq!(place.says(&["run", "--", "sh", "-c", "exit 1"]).err, "");
    assert_eq!(place.says(&["run", "--", "true", &file]).err, "", "it did not fail");
    let script = "t = Terminal([POLDER, 'run', '--', 'sh', '-c', 'exit 1'])
t.see('to see what was denied: polder again')
assert t.end() == 1";
    let said = on_a_terminal(&place, script);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
}

#[test]
fn again_tells_what_was_denied_and_changes_nothing() {
    for engine in ENGINES {
        let place = Place::new();
        let file = place.write("other/data", "seen\n").display().to_string();
        place.write("work/count", "");
        let script = format!("echo x >> count; cat {file} 2>/dev/null");
        let said = place.says(&["run", "--engine", engine, "--", "sh", "-c", &script]);
        assert_eq!((said.code, place.read("work/count").as_str()), (1, "x\n"), "{said:?}");
        let said = place.says(&["again"]);
        assert_eq!(said.code, 1, "{engine}: {said:?}");
        let line = format!("polder: blocked read of {file}; to allow it: --allow fs.read={file}\n");
        assert!(said.err.contains(&line), "{engine}: {said:?}");
        assert_eq!(place.read("work/count"), "x\n", "{engine}: the tree was changed");
        let kept = place.says(&["workspace", "list"]);
        assert!(kept.out.contains("no workspaces"), "{engine}: a layer was kept: {kept:?}");
        // The grant that was named is tried the same way.
        let said = place.says(&["again", "--allow", &format!("fs.read={file}")]);
        assert_eq!((said.code, said.out.as_str()), (0, "seen\n"), "{engine}: {said:?}");
        let said = place.says(&["again", "--json"]);
        assert!(said.out.lines().any(|line| line.contains("\"violation\"") && line.contains(&file)), "{said:?}");
        assert_eq!(place.read("work/count"), "x\n", "{engine}: the tree was changed");
    }
}

#[test]
fn again_needs_a_command_that_failed_here() {
    let place = Place::new();
    assert_eq!(place.says(&["run", "--", "true"]).code, 0);
    let said = place.says(&["again"]);
    assert!(said.code == 125 && said.err.contains("none is kept"), "{said:?}");
}

#[test]
fn again_keeps_no_value_of_a_variable_and_asks_for_it() {
    let place = Place::new();
    let script = "echo $A; exit 3";
    assert_eq!(place.says(&["run", "--env", "A=hunter2", "--", "sh", "-c", script]).code, 3);
    let said = place.sh("cd && grep -r hunter2 .local");
    assert!(said.code == 1 && said.out.is_empty(), "{said:?}");
    let said = place.says(&["again"]);
    assert!(said.code == 125 && said.err.contains("polder again --env A=VALUE"), "{said:?}");
    let said = place.says(&["again", "--env", "A=other"]);
    assert_eq!((said.code, said.out.as_str()), (3, "other\n"), "{said:?}");
}

#[test]
fn again_keeps_the_command_where_no_sandbox_sees_it() {
    let place = Place::new();
    assert_eq!(place.says(&["run", "--", "sh", "-c", "exit 3 # mark-of-it"]).code, 3);
    let state = place.dir().join("home/.local/state/polder/last");
    let file = fs::read_dir(&state).expect("last").next().expect("one").expect("one").path();
    let mode = |path: &std::path::Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&state), mode(&file)), (0o700, 0o600));
    let around = place.home().join(".local").display().to_string();
    let said = place.says(&["run", "-C", &around, "--", "sh", "-c", "grep -r mark-of . ; true"]);
    assert!(!said.out.contains("exit 3"), "{said:?}");
    // The control, and the log: its text is there and nowhere else.
    let said = place.sh(&format!("cd {around} && grep -rl mark-of ."));
    assert_eq!(said.out.lines().filter(|line| !line.contains("/last/")).count(), 0, "{said:?}");
    assert!(said.out.contains("/last/"), "{said:?}");
}
