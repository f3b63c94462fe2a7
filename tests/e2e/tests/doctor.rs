//! `polder doctor`.
#![forbid(unsafe_code)]

use polder_e2e::{Lack, Place, without};

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
