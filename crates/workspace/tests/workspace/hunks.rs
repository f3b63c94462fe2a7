//! Taking a part: some paths, some hunks of a file, and what is held back.

use crate::operations::Operation;
use crate::overlay::{in_overlay, in_overlay_unseen};
use crate::scene::Scene;
use polder_workspace::{ApplyError, Choice, Relative, Text, Unwatched, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
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

#[test]
fn what_a_held_name_of_the_tree_leads_to_is_held_too() {
    let scene = Scene::new();
    for path in [
        "envs/dev",
        "cfg/ci.yml",
        "tools/hooks/x",
        "shared.conf",
        "scripts/clean.sh",
        "real/hook",
        "plain",
        "repo/config",
    ] {
        scene.host(path, "old");
        scene.layer(path, "evil");
    }
    scene.host("repo/HEAD", "ref: refs/heads/main");
    fs::create_dir(scene.root().join("repo/objects")).unwrap();
    symlink("envs/dev", scene.root().join(".envrc")).unwrap();
    fs::create_dir_all(scene.root().join(".github")).unwrap();
    symlink("../cfg", scene.root().join(".github/workflows")).unwrap();
    let config = "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../shared.conf\n[filter \"x\"]\n\tclean = sh scripts/clean.sh\n";
    scene.host(".git/config", config);
    fs::create_dir_all(scene.root().join(".git/hooks")).unwrap();
    symlink("../../alias", scene.root().join(".git/hooks/pre-commit")).unwrap();
    symlink("real/hook", scene.root().join("alias")).unwrap();
    let review = scene.workspace().review().unwrap();
    let held: Vec<_> =
        review.items.iter().filter(|item| item.held.is_some()).map(|item| item.change.path.as_path()).collect();
    let expected =
        ["cfg/ci.yml", "envs/dev", "real/hook", "repo/config", "scripts/clean.sh", "shared.conf", "tools/hooks/x"];
    assert_eq!(held, expected.map(Path::new));
    // The control: the same changes, where nothing leads to them.
    for link in [".envrc", ".github/workflows", ".git/hooks/pre-commit", ".git/config", "repo/HEAD"] {
        fs::remove_file(scene.root().join(link)).unwrap();
    }
    let review = scene.workspace().review().unwrap();
    assert!(review.items.iter().all(|item| item.held.is_none()), "{:?}", review.items);
}

fn held(scene: &Scene) -> Vec<String> {
    let review = scene.workspace().review().unwrap();
    let held = review.items.iter().filter(|item| item.held.is_some());
    held.map(|item| item.change.path.as_path().display().to_string()).collect()
}

#[test]
fn programs_are_held_wherever_the_configuration_lies_that_names_them() {
    let scene = Scene::new();
    let named = ["deep/in.sh", "fsm.sh", "lnk/t.sh", "sub/t/fs.sh", "tools/w.sh", "x/tools/gen.rs"];
    for path in named.iter().chain(&["plain.sh", "sh/inner", "x/src/gen.rs"]) {
        scene.host(path, "old");
        scene.layer(path, "evil");
    }
    let says = |key: &str| format!("[core]\n\tfsmonitor = {key}\n");
    scene.host(".git/config", &format!("{}[include]\n\tpath = ../a.inc\n", says("sh fsm.sh")));
    scene.host("a.inc", "[include]\n\tpath = b.inc\n[include]\n\tpath = a.inc\n");
    scene.host("b.inc", &says("./deep/in.sh"));
    scene.host(".git/config.worktree", "[diff]\n\texternal = tools/w.sh\n");
    scene.host(".git/modules/sub/config", &says("./t/fs.sh"));
    scene.host("sub/.git", "gitdir: ../.git/modules/sub\n");
    scene.host("real/commondir", "../common\n");
    scene.host("common/config", &says("./t.sh"));
    symlink("../real", scene.root().join("lnk/.git")).unwrap();
    scene.host("x/Cargo.toml", "[package]\nname = \"x\"\nbuild = \"tools/gen.rs\"\n");
    assert_eq!(held(&scene), named);
    // The control: the same changes without what names them.
    for path in [".git/config", ".git/config.worktree", "sub/.git", "lnk/.git", "x/Cargo.toml"] {
        fs::remove_file(scene.root().join(path)).unwrap();
    }
    assert_eq!(held(&scene), Vec::<String>::new());
}

#[test]
fn what_is_moved_to_a_name_that_is_executed_is_held_as_what_is_written_there() {
    let contents = [
        ("package.json", "{\"scripts\":{\"postinstall\":\"evil\"}}"),
        ("Cargo.toml", "[package]\nname = \"x\"\nbuild = \"evil.rs\"\n"),
        (".gitattributes", "* filter=evil\n"),
        ("pyproject.toml", "[build-system]\nrequires = [\"evil\"]\n"),
        ("composer.json", "{\"scripts\":{\"x\":\"evil\"}}"),
    ];
    for (name, text) in contents {
        let scene = Scene::new();
        scene.host("data.txt", text);
        in_overlay(&scene, &[Operation::Rename("data.txt".into(), name.into())]);
        let review = scene.workspace().review().unwrap();
        assert_eq!(review.items[0].change.what.name(), "renamed", "{name}");
        assert_eq!(held(&scene), [name]);
        // The control: the same file under another name.
        let scene = Scene::new();
        scene.host("data.txt", text);
        in_overlay(&scene, &[Operation::Rename("data.txt".into(), "other.txt".into())]);
        assert_eq!(held(&scene), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_the_command_closed_to_everybody_is_reviewed_and_applied_with_the_rest() {
    let scene = Scene::new();
    for path in ["closed", "plain", "dir/x"] {
        scene.host(path, "old");
    }
    let write = |path: &str| Operation::Write(path.into(), "new".into());
    let operations =
        [write("closed"), write("plain"), Operation::Bits("closed".into(), 0), Operation::Bits("dir".into(), 0o711)];
    in_overlay_unseen(&scene, &operations);
    let applied = scene.apply(&Choice::everything());
    assert!(applied.items.iter().all(|(_, verdict)| *verdict == Verdict::Taken), "{applied:?}");
    fs::set_permissions(scene.root().join("closed"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(fs::read_to_string(scene.root().join("closed")).unwrap(), "new");
}

#[test]
fn some_hunks_of_a_file_bring_no_other_bits_with_them() {
    let scene = Scene::new();
    let lines: Vec<String> = (0..40).map(|number| format!("line {number}")).collect();
    scene.host("file", &lines.join("\n"));
    let mut changed = lines.clone();
    (changed[0], changed[39]) = ("first".to_owned(), "last".to_owned());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let before = mode(&scene.root().join("file"));
    in_overlay(&scene, &[Operation::Write("file".into(), changed.join("\n")), Operation::Bits("file".into(), 0o755)]);
    let hunks = [(Relative::new(Path::new("file")).unwrap(), [1].into())].into();
    scene.apply(&Choice { hunks, ..Choice::everything() });
    let text = fs::read_to_string(scene.root().join("file")).unwrap();
    assert!(text.starts_with("first") && text.ends_with("line 39"), "{text}");
    assert_eq!(mode(&scene.root().join("file")), before);
    scene.apply(&Choice::everything());
    assert_eq!(mode(&scene.root().join("file")), 0o755);
}

#[test]
fn links_that_lead_out_are_held() {
    let scene = Scene::new();
    let upper = scene.workspace().layers().upper;
    for (name, target) in [("absolute", "/etc/passwd"), ("above", "../x"), ("inside", "plain"), (".cargo", "plain")] {
        symlink(target, upper.join(name)).unwrap();
    }
    let applied = scene.apply(&Choice::everything());
    for name in ["absolute", "above", ".cargo"] {
        assert!(matches!(scene.verdict(&applied, name), Verdict::Held(_)), "{name}: {applied:?}");
    }
    assert_eq!(scene.verdict(&applied, "inside"), Verdict::Taken);
    assert_eq!(scene.tree().keys().collect::<Vec<_>>(), ["inside"]);
    scene.apply(&Choice { include_held: vec!["absolute".into()], ..Choice::everything() });
    assert!(scene.tree().contains_key("absolute"));
}

#[test]
fn a_rename_is_taken_by_both_its_ends() {
    let scene = Scene::new();
    scene.host("notes/task", "some content");
    in_overlay(
        &scene,
        &[Operation::Make(".husky".into()), Operation::Rename("notes/task".into(), ".husky/post-commit".into())],
    );
    let verdict = |choice: Choice| {
        let review = scene.workspace().review().unwrap();
        let lock = scene.workspace().lock_for_run().unwrap();
        let applied = scene.workspace().apply_reviewed(&lock, review, &choice, &mut Unwatched).unwrap();
        scene.verdict(&applied, ".husky/post-commit")
    };
    let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    let half = Choice { paths: paths(&["notes"]), include_held: paths(&["**"]), ..Choice::everything() };
    assert!(matches!(verdict(half), Verdict::Refused(_)));
    let source = Choice { include_held: paths(&["notes"]), ..Choice::everything() };
    assert!(matches!(verdict(source), Verdict::Held(_)), "the end that is held is to be named");
    scene.host("notes/task", "some content");
    let target = Choice { include_held: paths(&[".husky"]), force: paths(&[".husky"]), ..Choice::everything() };
    assert!(matches!(verdict(target), Verdict::Conflict(_)), "the source is in conflict");
    let whole = Choice {
        paths: paths(&["notes", ".husky"]),
        include_held: paths(&[".husky"]),
        force: paths(&["notes"]),
        ..Choice::everything()
    };
    assert_eq!(verdict(whole), Verdict::Taken);
}
