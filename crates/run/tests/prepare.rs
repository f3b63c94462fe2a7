//! What is decided before a run: the facts of a tree, and who may start.
#![forbid(unsafe_code)]

use polder_facts::{Entry, Origin, Sourced};
use polder_policy::{EngineChoice, PathPattern, Policy, built_in};
use polder_run::{FactsError, Unfit, gather, prepare};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A tree that is removed with everything in it.
struct Tree(PathBuf);

impl Tree {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("polder-run.{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(name);
        fs::create_dir(&dir).expect("a directory");
        Self(fs::canonicalize(dir).expect("a path without links"))
    }

    fn write(&self, path: &str) -> PathBuf {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        fs::write(&path, "").expect("a file");
        path
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn environment(tree: &Tree) -> BTreeMap<OsString, OsString> {
    // Whatever the probes find is kept in the tree and not in the caller's own cache.
    BTreeMap::from([("HOME".into(), "/nonexistent".into()), ("XDG_RUNTIME_DIR".into(), tree.0.join(".cache").into())])
}

fn protecting(paths: &[&str]) -> Policy {
    let mut policy = built_in();
    let rule = |path: &&str| Sourced::new(PathPattern((*path).to_owned()), Origin::Api);
    policy.protect = paths.iter().map(rule).collect();
    policy
}

#[test]
fn facts_hold_each_path_of_a_rule_and_its_parents() {
    let tree = Tree::new();
    tree.write("a/b/held");
    std::os::unix::fs::symlink("a", tree.0.join("link")).expect("a link");
    fs::hard_link(tree.0.join("a/b/held"), tree.0.join("second")).expect("a second name");
    let policy = protecting(&["a/b/held", "a/new/x", "link/b"]);
    let facts = gather(&policy, &tree.0, &tree.0, environment(&tree)).expect("facts");
    let entry = |path: &str| facts.tree.entries.get(&tree.0.join(path)).cloned();
    assert_eq!(entry("a"), Some(Entry::Directory));
    assert_eq!(entry("a/b/held"), Some(Entry::File { links: 2 }));
    assert_eq!(entry("a/new"), Some(Entry::Missing));
    assert_eq!(entry("link"), Some(Entry::Symlink("a".into())));
    assert_eq!(entry("link/b"), None, "what lies behind a link is another path");
}

#[test]
fn a_pattern_is_expanded_in_order_and_does_not_follow_links() {
    let tree = Tree::new();
    for path in ["z/.env", ".env", "a/deep/.env", "a/env", "k.pem", "a/k.pem"] {
        tree.write(path);
    }
    std::os::unix::fs::symlink("/etc", tree.0.join("outside")).expect("a link");
    std::os::unix::fs::symlink(".", tree.0.join("loop")).expect("a link");
    let facts = gather(&protecting(&["**/.env", "*.pem"]), &tree.0, &tree.0, environment(&tree)).expect("facts");
    let found = |pattern: &str| -> Vec<String> {
        let below = |path: &PathBuf| path.strip_prefix(&tree.0).expect("below the root").display().to_string();
        facts.tree.matches[pattern].iter().map(below).collect()
    };
    assert_eq!(found("**/.env"), [".env", "a/deep/.env", "z/.env"]);
    assert_eq!(found("*.pem"), ["k.pem"], "a star stops at a slash");
}

#[test]
fn what_cannot_be_gathered_is_an_error_with_its_place() {
    let tree = Tree::new();
    let missing = gather(&built_in(), &tree.0.join("nowhere"), &tree.0, environment(&tree));
    assert!(matches!(missing, Err(FactsError::Workspace { .. })), "{missing:?}");
    let file = tree.write("file");
    let file = gather(&built_in(), &file, &file, environment(&tree));
    assert!(matches!(file, Err(FactsError::Workspace { .. })), "{file:?}");
    let pattern = gather(&protecting(&["a/[x"]), &tree.0, &tree.0, environment(&tree));
    assert!(matches!(pattern, Err(FactsError::Pattern { origin: Origin::Api, .. })), "{pattern:?}");
}

fn chosen(tree: &Tree, name: &str) -> Result<String, Unfit> {
    let mut policy = built_in();
    policy.engine = Sourced::new(EngineChoice::Named(name.to_owned()), Origin::Flag("--engine".to_owned()));
    let prepared = prepare(&policy, &["true".into()], &tree.0, &tree.0, environment(tree)).expect("a plan");
    prepared.chosen.map(|chosen| chosen.reason)
}

#[test]
fn an_engine_that_nobody_knows_is_refused_by_name() {
    let tree = Tree::new();
    assert!(matches!(chosen(&tree, "no-such-engine"), Err(Unfit::Unknown(name)) if name == "no-such-engine"));
}

#[test]
fn an_engine_asked_for_by_name_is_never_replaced() {
    let tree = Tree::new();
    for engine in polder_engines::all() {
        match chosen(&tree, engine.id()) {
            Ok(reason) => assert_eq!(reason, "asked for by flag --engine"),
            Err(Unfit::Refused(refused)) => assert_eq!(refused.engine, engine.id()),
            Err(Unfit::Unavailable { engine: told, remedy, .. }) => {
                assert_eq!(told, engine.id());
                assert!(!remedy.is_empty());
            }
            Err(other) => panic!("{}: {other}", engine.id()),
        }
    }
}

#[test]
fn deciding_touches_nothing_in_the_workspace() {
    let tree = Tree::new();
    tree.write("held");
    let names = || {
        let mut names: Vec<OsString> =
            fs::read_dir(&tree.0).expect("the tree").flatten().map(|e| e.file_name()).collect();
        names.retain(|name| Path::new(name) != Path::new(".cache"));
        names
    };
    let before = names();
    prepare(&protecting(&["held", "new", "**/.env"]), &["true".into()], &tree.0, &tree.0, environment(&tree))
        .map(drop)
        .expect("a plan");
    assert_eq!(names(), before);
}
