//! `polder run --cow`: the tree stays as it is, and polder says where the changes are.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};
use std::process::Stdio;

#[test]
fn the_tree_stays_and_the_next_command_is_told() {
    let place = Place::new();
    place.write("work/file", "text\n");
    let said = place.says(&["run", "--cow", "--", "sh", "-c", "echo more >> file; cat file; exit 3"]);
    assert_eq!((said.code, said.out.as_str()), (3, "text\nmore\n"), "{said:?}");
    let line = said.err.trim_end();
    assert!(line.starts_with("polder: changes are in the workspace ") && !line.contains('\n'), "{line}");
    assert!(line.contains("`polder workspace diff "), "{line}");
    assert_eq!(place.read("work/file"), "text\n");
    assert_eq!(place.names(), ["file"]);
}

#[test]
fn a_run_that_changes_nothing_says_nothing_and_leaves_nothing() {
    let place = Place::new();
    place.write("work/file", "text\n");
    for flags in [&["--cow"][..], &["--workspace", "w"], &["--discard"]] {
        let said = place.says(&[&["run"], flags, &["--", "cat", "file"]].concat());
        assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "text\n", ""), "{said:?}");
    }
    let thrown_away = place.says(&["run", "--discard", "--", "sh", "-c", "echo x > new"]);
    assert_eq!((thrown_away.code, thrown_away.err.as_str()), (0, ""), "{thrown_away:?}");
    let store = std::fs::read_dir(place.home().join(".local/state/polder/workspaces")).expect("the store");
    assert_eq!(store.count(), 0);
}

#[test]
fn programs_are_told_by_an_event() {
    let place = Place::new();
    let said = place.says(&["run", "--json", "--workspace", "w", "--", "touch", "new"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    let event = said.out.lines().find(|line| line.contains("\"type\":\"changes\"")).expect("an event");
    for part in ["\"workspace\":\"w\"", "\"changed\":true", "\"kept\":true"] {
        assert!(event.contains(part), "{event}");
    }
    assert!(place.names().is_empty());
}

#[test]
fn the_plan_says_it_and_has_another_hash() {
    let place = Place::new();
    let plan = |flags: &[&str]| place.says(&[&["run", "--dry-run"], flags, &["--", "true"]].concat()).out;
    let hash = |plan: &str| plan.lines().last().map(str::to_owned);
    let (direct, cow) = (plan(&[]), plan(&["--workspace", "w", "--from", "v", "--discard"]));
    assert!(cow.contains("changes     cow (w), begins with those of v, thrown away at the end"), "{cow}");
    assert!(cow.contains("in a layer of its own"), "{cow}");
    assert_ne!(hash(&direct), hash(&cow));
    assert!(!place.has("home/.local"), "a plan makes nothing");
}

#[test]
fn what_cannot_be_had_is_refused_and_never_in_place() {
    let place = Place::new();
    place.write("case.yaml", "sandboxes: {a: {workspace: {mode: worktree}}}\nsandbox: a\n");
    let config = place.dir().join("case.yaml").display().to_string();
    let said = place.says(&["run", "--config", &config, "--", "touch", "new"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("is not the root of a git repository"), "{said:?}");
    let disk = place.says(&["run", "--cow", "--disk", "1M", "--", "touch", "new"]);
    assert_eq!(disk.code, 125, "{disk:?}");
    assert!(disk.err.contains("--accept disk"), "{disk:?}");
    assert_eq!(place.says(&["run", "--cow", "--disk", "1M", "--accept", "disk", "--", "true"]).code, 0);
    assert!(place.names().is_empty());
}

#[test]
fn a_layer_that_grows_too_large_ends_the_run() {
    let place = Place::new();
    // One that goes on until it is stopped, one that is quicker than a look, and one of many names without content.
    let slow = "for i in $(seq 40); do head -c 256K /dev/zero > f$i; sleep 0.05; done; echo all";
    let quick = "head -c 16M /dev/zero > f; echo all";
    let names = "seq 1200 | xargs touch; echo all";
    for (bound, script) in [("1M", slow), ("1M", quick), ("256K", names)] {
        let bounded = ["run", "--workspace", "w", "--disk", bound, "--accept", "disk", "--", "sh", "-c", script];
        let said = place.says(&bounded);
        assert_eq!(said.code, 137, "{said:?}");
        assert!(said.err.contains("the disk limit was reached"), "{said:?}");
        assert!(script != slow || said.out.is_empty(), "{said:?}");
        let kept = place.says(&["workspace", "diff", "w", "--stat"]);
        assert_eq!(kept.code, 0, "what it did stays for review: {kept:?}");
        assert_eq!(place.says(&["workspace", "discard", "w"]).code, 0);
        // Without the bound the same comes to its end, and within it, too.
        let free = place.says(&["run", "--discard", "--", "sh", "-c", script]);
        assert_eq!((free.code, free.out.as_str()), (0, "all\n"), "{free:?}");
    }
    let within = place.says(&[
        "run",
        "--discard",
        "--disk",
        "1M",
        "--accept",
        "disk",
        "--",
        "sh",
        "-c",
        "head -c 256K /dev/zero > f; sleep 0.3; echo all",
    ]);
    assert_eq!((within.code, within.out.as_str()), (0, "all\n"), "{within:?}");
    assert!(place.names().is_empty());
}

#[test]
fn steps_of_another_tool_find_their_workspace_by_its_names() {
    let place = Place::new().trusting();
    let file =
        "sandboxes: {a: {engine: native, workspace: {mode: cow}}, b: {engine: native}}\nsandbox: a\nversion: '1'\n";
    place.write("work/.visor.yaml", file);
    let print = ["--", "sh", "-c", "env | grep ^VISOR_ | sort"];
    let said = place.says(&[&["run"][..], &print].concat());
    let start = place.work().display().to_string();
    let names = format!(
        "VISOR_ORIGINAL_WORKDIR={start}\nVISOR_WORKSPACE_MAIN_PROJECT=/workspace\n\
         VISOR_WORKSPACE_MAIN_PROJECT_NAME=work\nVISOR_WORKSPACE_ROOT=/workspace\n"
    );
    assert_eq!(said.out, names, "{said:?}");
    let direct = place.says(&[&["run", "-s", "b"][..], &print].concat());
    assert_eq!(direct.out, "", "{direct:?}");
}

#[test]
fn a_hundred_runs_at_once_have_a_hundred_workspaces() {
    const RUNS: usize = 100;
    let place = Place::new();
    place.write("work/file", "old\n");
    std::fs::create_dir(place.dir().join("met")).expect("a directory");
    let bind = format!("{}:/met:rw", place.dir().join("met").display());
    // Nobody goes on before everybody is there.
    let script =
        "echo $1 > file; : > /met/$1; while test $(ls /met | wc -l) -lt $2; do sleep 0.1; done; cat file; rm file";
    let count = RUNS.to_string();
    let runs: Vec<_> = (0..RUNS)
        .map(|number| {
            let (name, number) = (format!("w{number}"), number.to_string());
            // Whoever never comes must not keep the others for ever.
            let flags = ["run", "--timeout", "2m", "--workspace", &name, "--bind", &bind];
            let command = ["--", "sh", "-c", script, "sh", &number, &count];
            let arguments = [&flags[..], &command].concat();
            place.polder(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder")
        })
        .collect();
    for (number, run) in runs.into_iter().enumerate() {
        let said = Said::from(run.wait_with_output().expect("an end"));
        assert_eq!((said.code, said.out.as_str()), (0, format!("{number}\n").as_str()), "{said:?}");
    }
    assert_eq!((place.read("work/file").as_str(), place.names()), ("old\n", vec!["file".to_owned()]));
    let listed = place.says(&["workspace", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.out).expect("JSON");
    assert_eq!(listed["workspaces"].as_array().map(Vec::len), Some(RUNS), "{listed}");
    for number in [0, RUNS / 2, RUNS - 1] {
        let name = format!("w{number}");
        let said = place.says(&["workspace", "diff", "--stat", &name]);
        assert!(said.code == 0 && said.out.contains("file"), "{said:?}");
        assert_eq!(place.says(&["workspace", "discard", &name]).code, 0);
    }
}
