//! `polder doctor`.
#![forbid(unsafe_code)]

use polder_e2e::{Lack, Place, on_a_terminal, without};

const GUARANTEES: [&str; 16] = [
    "fs",
    "protect",
    "second-layer",
    "net",
    "ipc",
    "processes",
    "privileges",
    "syscalls",
    "env",
    "memory",
    "cpus",
    "pids",
    "files",
    "disk",
    "output",
    "timeout",
];

const MECHANISMS: [&str; 10] = [
    "namespaces",
    "network-namespace",
    "mount-root",
    "idmapped-mounts",
    "landlock",
    "seccomp",
    "process-rlimit",
    "cgroup-memory",
    "cgroup-pids",
    "cgroup-cpu",
];

#[test]
fn lists_every_mechanism_and_engine() {
    let place = Place::new();
    let said = place.says(&["doctor"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    for name in MECHANISMS {
        assert!(said.out.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}: {}", said.out);
    }
    assert!(said.out.contains("A command can be contained here."), "{}", said.out);
    assert!(said.out.contains("workspaces          cow is a layer (overlay), copies for worktree "), "{}", said.out);
    assert!(place.names().is_empty(), "nothing is made in the directory");
}

#[test]
fn json_has_the_same_findings() {
    let place = Place::new();
    let said = place.says(&["doctor", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(value["contained"], true);
    assert!(value["landlockAbi"].is_u64());
    for name in MECHANISMS {
        let found = &value["mechanisms"][name];
        match found["works"].as_bool() {
            Some(true) => assert!(found["detail"].is_string(), "{name}: {found}"),
            Some(false) => assert!(found["reason"].is_string() && found["remedy"].is_string(), "{name}: {found}"),
            None => assert!(found["works"].is_null() && found["reason"].is_string(), "{name}: {found}"),
        }
    }
    let engines = value["engines"].as_object().expect("engines");
    assert!(engines.values().any(|engine| engine["works"] == true));
    assert!(engines.values().all(|engine| engine["class"].is_string()));
}

#[test]
fn works_where_no_workspace_could_be() {
    // To ask is not to run: the home directory, the root and an empty place are all fine.
    let place = Place::new();
    for dir in [place.home(), "/".into(), "/usr".into()] {
        let output = place.polder(&["doctor"]).current_dir(&dir).output().expect("polder");
        assert!(output.status.success(), "{}: {output:?}", dir.display());
    }
}

#[test]
fn fails_where_nothing_can_contain_a_command() {
    let place = Place::new();
    let said = without(&place, Lack::UserNamespaces, &["doctor"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("Nothing can contain a command here."), "{}", said.out);
    assert!(said.out.contains("max_user_namespaces"), "the remedy names the setting: {}", said.out);
    let said = without(&place, Lack::UserNamespaces, &["doctor", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((said.code, &value["contained"]), (1, &false.into()));
}

#[test]
fn the_matrix_has_every_engine_and_every_guarantee() {
    let place = Place::new();
    let value: serde_json::Value = serde_json::from_str(&place.says(&["doctor", "--json"]).out).expect("JSON");
    let engines = value["engines"].as_object().expect("engines");
    let order: Vec<&str> = value["order"].as_array().expect("an order").iter().flat_map(|id| id.as_str()).collect();
    assert_eq!(order.len(), engines.len());
    for (id, engine) in engines {
        for name in GUARANTEES {
            let judged = &engine["guarantees"][name];
            let has = |key: &str| judged[key].is_string();
            match judged["verdict"].as_str() {
                Some("enforced") => assert!(engine["works"] == true && has("by"), "{id} {name}: {judged}"),
                Some("weaker") => assert!(has("by") && has("reason"), "{id} {name}: {judged}"),
                Some("cannot") => assert!(has("reason"), "{id} {name}: {judged}"),
                _ => panic!("{id} {name}: {judged}"),
            }
        }
        assert!(engine["summary"].is_string() && engine["platform"].is_string(), "{id}: {engine}");
    }
    // The same as a table, in the same order, and narrow.
    let said = place.says(&["doctor"]);
    let table = || said.out.lines().skip_while(|line| !line.starts_with("KEEPS ")).take_while(|line| !line.is_empty());
    let rows: Vec<Vec<&str>> = table().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0].len(), 1 + GUARANTEES.len());
    for (id, row) in order.iter().zip(&rows[1..]) {
        assert_eq!((row[0], row.len()), (*id, 1 + GUARANTEES.len()), "{row:?}");
        for (name, cell) in GUARANTEES.iter().zip(&row[1..]) {
            let expected = match (engines[*id]["works"] == true, &engines[*id]["guarantees"][*name]["verdict"]) {
                (false, _) => "-",
                (true, verdict) if verdict == "enforced" => "yes",
                (true, verdict) if verdict == "weaker" => "weak",
                (true, _) => "no",
            };
            assert_eq!(*cell, expected, "{id} {name}");
        }
    }
    assert!(table().all(|line| line.chars().count() <= 100), "{}", said.out);
    assert!(!said.out.contains('\u{1b}'), "no colour off a terminal");
}

#[test]
fn what_is_missing_here_is_missing_in_the_matrix() {
    let place = Place::new();
    let said = without(&place, Lack::UserNamespaces, &["doctor", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    for (id, engine) in value["engines"].as_object().expect("engines") {
        for (name, judged) in engine["guarantees"].as_object().expect("guarantees") {
            let told = judged["verdict"] == "cannot" && judged["reason"] == engine["reason"];
            assert!(engine["works"] == true || told, "{id} {name}: {judged}");
        }
    }
}

#[test]
fn a_terminal_has_colours_unless_somebody_says_no() {
    let place = Place::new();
    let script = "
def seen(**more):
    os.environ.pop('NO_COLOR', None)
    os.environ.update(more)
    t = Terminal([POLDER, 'doctor', '--no-pager'], columns=100)
    assert t.end() == 0
    while t.read(0.02): pass
    return t.seen
assert '\\x1b[32myes' in seen() and '\\x1b[32mworks\\x1b[0m: ' in seen()
assert '\\x1b' not in seen(NO_COLOR='1')
";
    let said = on_a_terminal(&place, script);
    assert_eq!(said.code, 0, "{said:?}");
}
