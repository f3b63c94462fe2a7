//! Taking a part: some paths, some hunks of a file, and what is held back.

use crate::operations::Operation;
use crate::overlay::in_overlay;
use crate::scene::Scene;
use polder_workspace::{ApplyError, Choice, Relative, Text, Unwatched, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn lines(changed: &[(usize, &str)]) -> String {
    let text = |line: usize| {
        changed.iter().find(|(at, _)| *at == line).map_or(format!("line {line}"), |(_, text)| (*text).to_owned())
    };
    (1..40).map(|line| text(line) + "\n").collect()
}

fn write(path: &str, text: &str) -> Operation {
    Operation::Write(path.to_owned(), text.to_owned())
}

fn of(path: &str, numbers: &[usize]) -> Choice {
    let path = Relative::new(Path::new(path)).unwrap();
    let hunks = BTreeMap::from([(path, numbers.iter().copied().collect::<BTreeSet<_>>())]);
    Choice { hunks, ..Choice::everything() }
}

#[test]
fn one_hunk_is_applied_and_the_other_is_still_there() {
    let scene = Scene::new();
    scene.host("file", &lines(&[]));
    in_overlay(&scene, &[write("file", &lines(&[(5, "five"), (30, "thirty")])), write("other", "x")]);
    scene.apply(&of("file", &[2]));
    assert_eq!(fs::read_to_string(scene.root().join("file")).unwrap(), lines(&[(30, "thirty")]));
    assert!(!scene.root().join("other").exists(), "nobody asked for it");
    let review = scene.workspace().review().unwrap();
    let item = review.items.iter().find(|item| item.change.path.as_path() == Path::new("file")).unwrap();
    let Text::Hunks(left) = review.text(item) else { panic!("{item:?}") };
    assert_eq!((left.len(), &item.conflict), (1, &None));
    scene.apply(&of("file", &[1]));
    assert_eq!(fs::read_to_string(scene.root().join("file")).unwrap(), lines(&[(5, "five"), (30, "thirty")]));
}

#[test]
fn a_hunk_that_is_not_there_is_an_error() {
    let scene = Scene::new();
    scene.host("file", &lines(&[]));
    in_overlay(&scene, &[write("file", &lines(&[(5, "five")])), Operation::Make("dir".into())]);
    for (path, number) in [("file", 2), ("file", 0), ("dir", 1), ("nothing", 1)] {
        let refused = scene.workspace().apply(&of(path, &[number]), &mut Unwatched);
        assert!(matches!(refused, Err(ApplyError::Choice(_))), "{path} {number}");
    }
}

#[test]
fn a_path_brings_the_new_directories_above_it_and_nothing_else() {
    let scene = Scene::new();
    in_overlay(&scene, &[write("new/deep/file", "x"), write("new/other", "x")]);
    scene.apply(&Choice { paths: vec!["new/deep/*".into()], ..Choice::everything() });
    assert_eq!(scene.tree().keys().collect::<Vec<_>>(), ["new", "new/deep", "new/deep/file"]);
}

#[test]
fn what_the_host_would_execute_is_held_back_until_it_is_named() {
    let scene = Scene::new();
    scene.host("package.json", r#"{"name": "x"}"#);
    in_overlay(
        &scene,
        &[
            write(".git/hooks/pre-commit", "#!/bin/sh\n"),
            write(".github/workflows/ci.yml", "on: push\n"),
            write("package.json", r#"{"name": "x", "scripts": {"postinstall": "curl"}}"#),
            write("src/main.rs", "fn main() {}\n"),
        ],
    );
    let applied = scene.apply(&Choice::everything());
    for path in [".git/hooks/pre-commit", ".github/workflows/ci.yml", "package.json"] {
        assert!(matches!(scene.verdict(&applied, path), Verdict::Held(_)), "{path}: {applied:?}");
    }
    assert_eq!(scene.verdict(&applied, "src/main.rs"), Verdict::Taken);
    assert!(!scene.root().join(".git").exists());
    let named = Choice { include_held: vec![".github".into()], ..Choice::everything() };
    let applied = scene.apply(&named);
    assert_eq!(scene.verdict(&applied, ".github/workflows/ci.yml"), Verdict::Taken);
    assert!(matches!(scene.verdict(&applied, ".git"), Verdict::Held(_)));
}

#[test]
fn one_path_that_was_chosen_means_nothing_below_it() {
    let scene = Scene::new();
    scene.layer("d/evil.sh", "evil");
    scene.layer("d/ok.txt", "ok");
    let exact = |path: &[u8]| Relative::new(Path::new(OsStr::from_bytes(path))).unwrap();
    // A name that is no text is a name as well.
    fs::write(scene.workspace().layers().upper.join(OsStr::from_bytes(b"\xff")), "x").unwrap();
    let choice =
        |paths: &[&[u8]]| Choice { exact: paths.iter().map(|path| exact(path)).collect(), ..Choice::everything() };
    scene.apply(&choice(&[b"d", b"\xff"]));
    assert!(scene.root().join(OsStr::from_bytes(b"\xff")).exists());
    assert_eq!(fs::read_dir(scene.root().join("d")).unwrap().count(), 0, "nobody said yes to what is in it");
    scene.apply(&choice(&[b"d/ok.txt"]));
    assert!(scene.root().join("d/ok.txt").exists() && !scene.root().join("d/evil.sh").exists());
}
