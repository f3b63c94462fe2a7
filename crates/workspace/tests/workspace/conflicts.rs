//! What the host does to the tree while a command runs is never overwritten, unless somebody says so.

use crate::operations::Operation;
use crate::overlay::{in_overlay, in_run};
use crate::scene::{Scene, run};
use polder_workspace::{Choice, Keep, Unwatched, Verdict};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

fn write(path: &str, text: &str) -> Operation {
    Operation::Write(path.to_owned(), text.to_owned())
}

/// A tree that was written before the workspace began, on any clock.
fn scene(files: &[(&str, &str)]) -> Scene {
    let scene = Scene::new();
    for (path, text) in files {
        scene.host(path, text);
    }
    scene.workspace();
    scene
}

fn conflicts(scene: &Scene, path: &str) -> bool {
    let before = scene.tree();
    let applied = scene.apply(&Choice::everything());
    let conflict = matches!(scene.verdict(&applied, path), Verdict::Conflict(_));
    if conflict {
        assert_eq!(scene.tree().get(path), before.get(path), "a conflict changes nothing");
    }
    conflict
}

#[test]
fn without_a_change_of_the_host_there_is_no_conflict() {
    let scene = scene(&[("file", "old"), ("gone", "g"), ("dir/x", "x")]);
    in_overlay(&scene, &[write("file", "new"), Operation::Remove("gone".into()), Operation::Remove("dir".into())]);
    assert!(!conflicts(&scene, "file"));
    assert_eq!(scene.tree().keys().collect::<Vec<_>>(), ["file"]);
}

#[test]
fn a_file_that_both_changed_is_kept() {
    let scene = scene(&[("file", "old")]);
    in_overlay(&scene, &[write("file", "theirs")]);
    scene.host("file", "mine");
    assert!(conflicts(&scene, "file"));
    let force = Choice { force: vec!["file".into()], ..Choice::everything() };
    assert_eq!(scene.verdict(&scene.apply(&force), "file"), Verdict::Taken);
    assert_eq!(fs::read_to_string(scene.root().join("file")).unwrap(), "theirs");
}

#[test]
fn equal_content_is_no_conflict_but_no_change_either() {
    let scene = scene(&[("file", "old")]);
    in_overlay(&scene, &[write("file", "same")]);
    scene.host("file", "same");
    assert!(scene.workspace().review().unwrap().items.is_empty());
}

#[test]
fn a_file_that_the_host_changed_is_not_deleted() {
    let operations = [Operation::Remove("file".into()), Operation::Remove("dir".into())];
    let files = [("file", "old"), ("dir/file", "old")];
    let work = |scene: &Scene| {
        scene.host("file", "mine");
        scene.host("dir/new", "mine");
    };
    let after = scene(&files);
    in_run(&after, after.workspace(), &operations, || {});
    work(&after);
    // While the command ran, another directory may have come in the place of the one that it removed.
    let during = scene(&files);
    in_run(&during, during.workspace(), &operations, || work(&during));
    for (scene, left) in [(after, &["dir", "dir/new", "file"][..]), (during, &["dir", "dir/file", "dir/new", "file"])] {
        let applied = scene.apply(&Choice::everything());
        for path in ["file", "dir/new", "dir"] {
            assert!(matches!(scene.verdict(&applied, path), Verdict::Conflict(_)), "{path}");
        }
        assert_eq!(scene.tree().keys().collect::<Vec<_>>(), left);
    }
}

#[test]
fn a_directory_that_the_host_put_where_the_command_removed_one_stays_with_everything_in_it() {
    let removed = || vec![Operation::Remove("d".into())];
    let replaced = || vec![Operation::Remove("d".into()), write("d", "a file")];
    let anew = || vec![Operation::Remove("d".into()), write("d/f", "new")];
    for (what, operations) in [("removed", removed()), ("replaced", replaced()), ("made anew", anew())] {
        for during in [true, false] {
            let scene = scene(&[("d/f", "A"), ("d/gone", "A"), ("o/f", "B"), ("o/deep/g", "B")]);
            let work = || {
                fs::remove_dir_all(scene.root().join("d")).unwrap();
                fs::rename(scene.root().join("o"), scene.root().join("d")).unwrap();
                scene.host("d/made", "mine");
            };
            in_run(&scene, scene.workspace(), &operations, || {
                if during {
                    work()
                }
            });
            if !during {
                work();
            }
            let users = scene.tree();
            scene.apply(&Choice::everything());
            assert_eq!(scene.tree(), users, "{what}, during the run: {during}");
        }
        // The control: where the host does nothing, the command's word counts.
        let scene = scene(&[("d/f", "A"), ("d/gone", "A")]);
        let seen = in_run(&scene, scene.workspace(), &operations, || {});
        scene.apply(&Choice::everything());
        assert_eq!(scene.tree(), seen, "{what}");
    }
}

#[test]
fn what_is_in_a_directory_stays_when_nothing_takes_its_place() {
    let scene = scene(&[("d/f", "A"), ("d/e/g", "A")]);
    in_run(&scene, scene.workspace(), &[Operation::Remove("d".into()), write("d", "a file")], || {});
    let before = scene.tree();
    fs::set_permissions(scene.root().join("d/f"), fs::Permissions::from_mode(0o600)).unwrap();
    let applied = scene.apply(&Choice::everything());
    for path in ["d", "d/f", "d/e", "d/e/g"] {
        assert!(matches!(scene.verdict(&applied, path), Verdict::Conflict(_)), "{path}: {applied:?}");
    }
    assert_eq!(scene.tree().keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
}

#[test]
fn a_file_that_the_host_removed_does_not_come_back() {
    let scene = scene(&[("file", "old"), ("dir/file", "old")]);
    in_overlay(&scene, &[Operation::Append("file".into(), "more".into()), write("dir/added", "x")]);
    fs::remove_file(scene.root().join("file")).unwrap();
    fs::remove_dir_all(scene.root().join("dir")).unwrap();
    let applied = scene.apply(&Choice::everything());
    for path in ["file", "dir", "dir/added"] {
        assert!(matches!(scene.verdict(&applied, path), Verdict::Conflict(_)), "{path}: {applied:?}");
    }
    assert!(scene.tree().is_empty());
}

/// Runs over the tree, does something to it, and applies. Says what became of a path, and what was noted about it.
fn afterwards(scene: &Scene, operations: &[Operation], meanwhile: impl FnOnce(), path: &str) -> (Verdict, bool) {
    in_run(scene, scene.workspace(), operations, || {});
    meanwhile();
    told(scene, path)
}

fn told(scene: &Scene, path: &str) -> (Verdict, bool) {
    let applied = scene.apply(&Choice::everything());
    let verdict = scene.verdict(&applied, path);
    let found = applied.items.iter().find(|(item, _)| item.change.path.as_path() == Path::new(path)).unwrap();
    (verdict, found.0.note.is_some_and(|note| note.contains("comes back")))
}

#[test]
fn what_the_command_wrote_anew_and_the_host_removed_does_not_come_back() {
    let anew = |path: &str| [Operation::Remove(path.into()), write(path, "new")];
    let tree = || scene(&[("file", "old"), ("d/deep/file", "old"), ("other", "old")]);
    let removed = |scene: &Scene, path: &str| {
        let path = scene.root().join(path);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    };
    // The kernel keeps no note of where these came from.
    let linked = tree();
    fs::hard_link(linked.root().join("file"), linked.root().join("again")).unwrap();
    let (verdict, _) = afterwards(&linked, &[write("file", "new")], || removed(&linked, "file"), "file");
    assert!(matches!(verdict, Verdict::Conflict(_)), "several names: {verdict:?}");
    for path in ["file", "d/deep/file"] {
        let scene = tree();
        let (verdict, _) = afterwards(&scene, &anew(path), || removed(&scene, path), path);
        assert!(matches!(verdict, Verdict::Conflict(_)), "{path}: {verdict:?}");
        assert!(!scene.root().join(path).exists(), "{path}");
        // The control: without the host, it is applied.
        let scene = tree();
        assert_eq!(afterwards(&scene, &anew(path), || (), path), (Verdict::Taken, false), "{path}");
    }
    // A directory that was made anew, with what is in it.
    let scene = tree();
    let operations = [Operation::Remove("d".into()), write("d/deep/file", "new")];
    let (verdict, _) = afterwards(&scene, &operations, || removed(&scene, "d"), "d/deep/file");
    assert!(matches!(verdict, Verdict::Conflict(_)), "{verdict:?}");
}

#[test]
fn what_was_applied_and_then_removed_by_the_host_does_not_come_back_with_the_next_apply() {
    let scene = scene(&[("d/old", "old")]);
    in_run(&scene, scene.workspace(), &[write("new", "n"), write("d/new", "n")], || {});
    scene.apply(&Choice::everything());
    fs::remove_file(scene.root().join("new")).unwrap();
    in_run(&scene, scene.workspace(), &[write("d/more", "m")], || {});
    assert!(matches!(told(&scene, "new").0, Verdict::Conflict(_)));
    assert!(!scene.root().join("new").exists() && scene.root().join("d/more").exists());
}

/// What happens next has a later stamp than what happened to this path.
fn until_the_clock_ticks(scene: &Scene, path: &str) {
    let stamp = |path: PathBuf| fs::metadata(path).map(|found| (found.ctime(), found.ctime_nsec())).unwrap();
    loop {
        fs::write(scene.dir.join("clock"), "-").unwrap();
        if stamp(scene.dir.join("clock")) > stamp(scene.root().join(path)) {
            return;
        }
    }
}

#[test]
fn a_new_file_is_no_conflict_wherever_the_host_works() {
    let work = |scene: &Scene| {
        scene.host("d/mine", "mine");
        fs::remove_file(scene.root().join("d/old")).unwrap();
    };
    let after = scene(&[("d/old", "old"), ("d/other", "old")]);
    assert_eq!(afterwards(&after, &[write("d/new", "n")], || work(&after), "d/new"), (Verdict::Taken, false));
    // Names that came and went while the command ran leave a doubt, which is told; in the next run there is none.
    let during = scene(&[("d/old", "old"), ("d/other", "old")]);
    in_run(&during, during.workspace(), &[write("d/new", "n"), write("e/new", "n")], || work(&during));
    until_the_clock_ticks(&during, "d");
    in_run(&during, during.workspace(), &[write("d/next", "n")], || ());
    let items = during.workspace().review().unwrap().items;
    let noted = |path: &str| {
        let found = items.iter().find(|item| item.change.path.as_path() == Path::new(path)).unwrap();
        assert_eq!(found.conflict, None, "{path}");
        found.note
    };
    assert!(noted("d/new").is_some_and(|note| note.contains("comes back")));
    assert_eq!((noted("d/next"), noted("e"), noted("e/new")), (None, None, None));
}

#[test]
fn a_run_that_was_killed_noted_nothing_and_that_is_told_where_it_matters() {
    for (settled, noted) in [(true, false), (false, true)] {
        let scene = scene(&[("d/old", "old"), ("other", "old")]);
        in_overlay(&scene, &[write("d/new", "n")]);
        if !settled {
            scene.host("d/mine", "mine");
        }
        assert_eq!(told(&scene, "d/new"), (Verdict::Taken, noted));
    }
}

#[test]
fn a_name_that_the_command_moved_a_file_to_stays_removed() {
    let scene = scene(&[("a", "A"), ("b", "B")]);
    let operations = [Operation::Rename("a".into(), "b".into())];
    let (verdict, _) = afterwards(&scene, &operations, || fs::remove_file(scene.root().join("b")).unwrap(), "b");
    assert!(matches!(verdict, Verdict::Conflict(_)), "{verdict:?}");
}

#[test]
fn what_lies_in_a_directory_that_the_host_put_there_is_kept() {
    let files = [("d/f", "A"), ("d/gone", "A"), ("o/f", "B"), ("o/gone", "B"), ("deep/er/f", "A"), ("x/er/f", "B")];
    let scene = scene(&files);
    in_overlay(
        &scene,
        &[write("d/f", "layer"), Operation::Remove("d/gone".into()), write("d/new", "n"), write("deep/er/f", "layer")],
    );
    for (from, to) in [("d", "d.old"), ("o", "d"), ("deep", "deep.old"), ("x", "deep")] {
        fs::rename(scene.root().join(from), scene.root().join(to)).unwrap();
    }
    let before = scene.tree();
    let applied = scene.apply(&Choice::everything());
    for path in ["d/f", "d/gone", "d/new", "deep/er/f"] {
        let verdict = scene.verdict(&applied, path);
        assert!(matches!(&verdict, Verdict::Conflict(why) if why.contains("another directory")), "{path}: {verdict:?}");
    }
    assert_eq!(scene.tree(), before);
    let force = Choice { force: vec!["d/f".into()], ..Choice::everything() };
    assert_eq!(scene.verdict(&scene.apply(&force), "d/f"), Verdict::Taken);
}

#[test]
fn a_directory_in_which_the_host_works_too_is_no_conflict() {
    let scene = scene(&[("d/f", "A"), ("d/other", "A")]);
    in_overlay(&scene, &[write("d/f", "layer"), Operation::Bits("d".into(), 0o750)]);
    assert!(!conflicts(&scene, "d"));
    // What an apply did to the directory is nothing that the host did.
    in_overlay(&scene, &[write("d/f", "layer again")]);
    assert!(!conflicts(&scene, "d/f"));
    in_overlay(&scene, &[write("d/f", "layer once more")]);
    scene.host("d/mine", "mine");
    scene.host("d/other", "mine");
    assert!(!conflicts(&scene, "d/f"));
}

#[test]
fn a_file_that_was_renamed_and_changed_inside_is_not_taken_for_a_removed_one() {
    let scene = scene(&[("file", "old")]);
    in_overlay(
        &scene,
        &[Operation::Rename("file".into(), "other".into()), Operation::Append("other".into(), "more".into())],
    );
    let applied = scene.apply(&Choice::everything());
    assert!(applied.items.iter().all(|(_, verdict)| *verdict == Verdict::Taken), "{applied:?}");
    assert_eq!(scene.tree().keys().collect::<Vec<_>>(), ["other"]);
}

#[test]
fn a_path_that_both_made_is_kept() {
    let scene = scene(&[]);
    in_overlay(&scene, &[write("file", "theirs"), write("dir/file", "theirs")]);
    scene.host("file", "mine");
    scene.host("dir", "a file");
    let applied = scene.apply(&Choice::everything());
    for path in ["file", "dir", "dir/file"] {
        assert!(matches!(scene.verdict(&applied, path), Verdict::Conflict(_)), "{path}: {applied:?}");
    }
    assert_eq!(fs::read_to_string(scene.root().join("dir")).unwrap(), "a file");
}

#[test]
fn other_bits_another_target_and_another_type_are_conflicts() {
    let scene = scene(&[("bits", "b"), ("flip", "f")]);
    symlink("bits", scene.root().join("link")).unwrap();
    in_overlay(
        &scene,
        &[
            Operation::Bits("bits".into(), 0o755),
            Operation::Remove("link".into()),
            Operation::Symlink("link".into(), "flip".into()),
            Operation::Remove("flip".into()),
            Operation::Make("flip".into()),
        ],
    );
    fs::set_permissions(scene.root().join("bits"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(scene.root().join("link")).unwrap();
    symlink("elsewhere", scene.root().join("link")).unwrap();
    scene.host("flip", "mine");
    let applied = scene.apply(&Choice::everything());
    for path in ["bits", "link", "flip"] {
        assert!(matches!(scene.verdict(&applied, path), Verdict::Conflict(_)), "{path}: {applied:?}");
    }
}

#[test]
fn what_was_applied_before_is_no_conflict_in_the_next_run() {
    let scene = scene(&[("file", "old")]);
    in_overlay(&scene, &[write("file", "one"), write("new", "one")]);
    scene.apply(&Choice::everything());
    in_overlay(&scene, &[write("file", "two"), write("new", "two")]);
    let applied = scene.apply(&Choice::everything());
    assert!(applied.items.iter().all(|(_, verdict)| *verdict == Verdict::Taken), "{applied:?}");
    assert_eq!(fs::read_to_string(scene.root().join("new")).unwrap(), "two");
    // And what was reverted can be applied again.
    scene.workspace().revert(&mut Unwatched).unwrap();
    assert_eq!(fs::read_to_string(scene.root().join("new")).unwrap(), "one");
    let applied = scene.apply(&Choice::everything());
    assert!(applied.items.iter().all(|(_, verdict)| *verdict == Verdict::Taken), "{applied:?}");
}

#[test]
fn a_revert_leaves_alone_what_changed_since() {
    let scene = scene(&[("file", "old"), ("other", "old")]);
    in_overlay(&scene, &[write("file", "new"), write("other", "new"), write("dir/made", "new")]);
    scene.apply(&Choice::everything());
    scene.host("file", "mine");
    scene.host("dir/mine", "mine");
    let reverted = scene.workspace().revert(&mut Unwatched).unwrap().unwrap();
    let refused: Vec<_> = reverted.refused.iter().map(|path| path.as_path().display().to_string()).collect();
    assert_eq!(refused, ["dir", "file"]);
    assert_eq!(fs::read_to_string(scene.root().join("file")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(scene.root().join("other")).unwrap(), "old");
    assert!(scene.root().join("dir/mine").exists() && !scene.root().join("dir/made").exists());
}

#[test]
fn what_a_refused_revert_did_not_put_back_is_still_there() {
    let scene = scene(&[("file", "the only copy"), ("other", "old")]);
    in_overlay(&scene, &[write("file", "new"), write("other", "new")]);
    scene.apply(&Choice::everything());
    scene.host("file", "mine");
    let reverted = scene.workspace().revert(&mut Unwatched).unwrap().unwrap();
    assert_eq!((reverted.restored.len(), reverted.refused.len()), (1, 1));
    // What the host wrote is the host's: the next apply does not take it for its own.
    let applied = scene.apply(&Choice { paths: vec!["file".into()], ..Choice::everything() });
    assert!(matches!(scene.verdict(&applied, "file"), Verdict::Conflict(_)), "{applied:?}");
    fs::rename(scene.root().join("file"), scene.root().join("mine")).unwrap();
    let reverted = scene.workspace().revert(&mut Unwatched).unwrap().unwrap();
    assert!(reverted.refused.is_empty(), "{reverted:?}");
    assert_eq!(fs::read_to_string(scene.root().join("file")).unwrap(), "the only copy");
    assert_eq!(fs::read_to_string(scene.root().join("other")).unwrap(), "old");
    assert!(scene.workspace().revert(&mut Unwatched).unwrap().is_none());
}

#[test]
fn a_revert_has_no_place_for_what_was_in_a_directory_that_is_gone() {
    for replace in [false, true] {
        let scene = scene(&[("dir/file", "old"), ("dir/stays", "old"), ("other", "old")]);
        in_overlay(&scene, &[Operation::Remove("dir/file".into()), write("other", "new")]);
        scene.apply(&Choice::everything());
        fs::remove_dir_all(scene.root().join("dir")).unwrap();
        if replace {
            symlink("/", scene.root().join("dir")).unwrap();
        }
        let reverted = scene.workspace().revert(&mut Unwatched).unwrap().unwrap();
        assert_eq!((reverted.restored.len(), reverted.refused.len()), (1, 1), "{reverted:?}");
        assert_eq!(fs::read_to_string(scene.root().join("other")).unwrap(), "old");
        assert!(!scene.workspace().is_interrupted());
    }
}

#[test]
fn a_revert_changes_nothing_that_the_user_put_there_since() {
    let scene = scene(&[("bits", "b"), ("d/x", "x")]);
    for name in ["l", "l2"] {
        symlink("a", scene.root().join(name)).unwrap();
    }
    scene.workspace().end(scene.workspace().lock_for_run().unwrap(), Keep::Never).unwrap();
    let relink = |path: &str| [Operation::Remove(path.into()), Operation::Symlink(path.into(), "b".into())];
    let bits = |path: &str| Operation::Bits(path.into(), 0o755);
    let operations =
        [&relink("l")[..], &[Operation::Remove("l2".into()), bits("bits"), Operation::Bits("d".into(), 0o700)]];
    in_run(&scene, scene.workspace(), &operations.concat(), || {});
    let applied = scene.apply(&Choice::everything());
    assert!(applied.items.iter().all(|(_, verdict)| *verdict == Verdict::Taken), "{applied:?}");
    let at = |path: &str| scene.root().join(path);
    fs::remove_file(at("l")).unwrap();
    for (target, name) in [("mine", "l"), ("mine2", "l2")] {
        symlink(target, at(name)).unwrap();
    }
    fs::rename(at("bits"), at("bits.old")).unwrap();
    fs::write(at("bits"), "another").unwrap();
    fs::set_permissions(at("bits"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(at("d"), at("d.old")).unwrap();
    fs::create_dir(at("d")).unwrap();
    fs::set_permissions(at("d"), fs::Permissions::from_mode(0o700)).unwrap();
    let users = scene.tree();
    let reverted = scene.workspace().revert(&mut Unwatched).unwrap().unwrap();
    assert_eq!((scene.tree(), reverted.refused.len()), (users, 4), "{reverted:?}");
    // Moved away, they give way to what was there, which was kept.
    for name in ["l", "l2"] {
        fs::remove_file(at(name)).unwrap();
    }
    let reverted = scene.workspace().revert(&mut Unwatched).unwrap().unwrap();
    assert_eq!(reverted.refused.len(), 2, "{reverted:?}");
    for name in ["l", "l2"] {
        assert_eq!(fs::read_link(at(name)).unwrap(), Path::new("a"), "{name}");
    }
}

#[test]
fn what_lies_in_a_refused_directory_does_not_keep_the_rest_from_being_applied() {
    let scene = scene(&[("d/1", "1")]);
    in_run(&scene, scene.workspace(), &[write("d/e/q", "q"), write("w", "w")], || {});
    fs::remove_dir_all(scene.root().join("d")).unwrap();
    let paths = ["d/e/q", "w"].map(str::to_owned).to_vec();
    let applied = scene.apply(&Choice { paths, ..Choice::everything() });
    assert!(!matches!(scene.verdict(&applied, "d/e/q"), Verdict::Taken), "{applied:?}");
    assert_eq!(scene.verdict(&applied, "w"), Verdict::Taken);
    assert_eq!(scene.tree().keys().collect::<Vec<_>>(), ["w"]);
}

/// A run that changes nothing of what this is about.
fn another_run(scene: &Scene) {
    in_run(scene, scene.workspace(), &[write("elsewhere", "x")], || {});
}

#[test]
fn a_later_run_does_not_make_a_conflict_forgotten() {
    // The user puts a directory where the command made one.
    let first = scene(&[("mine/f", "precious")]);
    in_run(&first, first.workspace(), &[write("out/f", "agent")], || {});
    fs::rename(first.root().join("mine"), first.root().join("out")).unwrap();
    // Another directory comes while the command runs.
    let second = scene(&[("out/f", "old"), ("other/f", "precious")]);
    let swap = |scene: &Scene| {
        fs::rename(scene.root().join("out"), scene.root().join("out.old")).unwrap();
        fs::rename(scene.root().join("other"), scene.root().join("out")).unwrap();
    };
    in_run(&second, second.workspace(), &[write("out/f", "agent")], || swap(&second));
    // One goes while it runs, and another comes when it has ended.
    let third = scene(&[("out/f", "old"), ("other/f", "precious")]);
    in_run(&third, third.workspace(), &[write("out/f", "agent")], || {
        fs::rename(third.root().join("out"), third.root().join("out.old")).unwrap();
    });
    fs::rename(third.root().join("other"), third.root().join("out")).unwrap();
    third.host("out/new", "mine");
    for (index, scene) in [first, second, third].iter().enumerate() {
        for again in [false, true, true] {
            if again {
                another_run(scene);
            }
            let review = scene.workspace().review().unwrap();
            let item = review.items.iter().find(|item| item.change.path.as_path() == Path::new("out/f")).unwrap();
            assert!(item.conflict.is_some(), "{index}, {again}: {item:?}");
        }
        scene.apply(&Choice::everything());
        assert_eq!(fs::read_to_string(scene.root().join("out/f")).unwrap(), "precious", "{index}");
    }
}

/// A run that is killed: nothing is noted, and its lock is that of somebody who did not let it go.
fn killed_run(scene: &Scene, operations: &[Operation]) {
    let workspace = scene.workspace();
    std::mem::forget(workspace.lock_for_run().unwrap().share().unwrap());
    in_overlay(scene, operations);
    fs::write(workspace.place().join("lock"), "4194304   ").unwrap();
}

#[test]
fn what_a_killed_run_wrote_is_judged_from_the_beginning_on_however_late() {
    let scene = scene(&[("d/f", "old"), ("other/f", "precious"), ("x", "old")]);
    let anew = [Operation::Remove("x".into()), write("x", "rewritten"), write("d/f", "agent")];
    killed_run(&scene, &anew);
    fs::rename(scene.root().join("d"), scene.root().join("d.old")).unwrap();
    fs::rename(scene.root().join("other"), scene.root().join("d")).unwrap();
    fs::remove_file(scene.root().join("x")).unwrap();
    another_run(&scene);
    let review = scene.workspace().review().unwrap();
    let item = |path: &str| review.items.iter().find(|item| item.change.path.as_path() == Path::new(path)).unwrap();
    assert!(item("d/f").conflict.is_some(), "{:?}", item("d/f"));
    assert!(item("x").note.is_some_and(|note| note.contains("comes back")), "{:?}", item("x"));
}

#[test]
fn an_empty_directory_of_the_user_stays() {
    let made = scene(&[("d/x", "x")]);
    in_run(&made, made.workspace(), &[Operation::Remove("d".into())], || {});
    fs::create_dir(made.root().join("d/mine")).unwrap();
    made.apply(&Choice::everything());
    assert!(made.root().join("d/mine").is_dir() && !made.root().join("d/x").exists());
    let again = scene(&[("c/x", "x")]);
    in_run(&again, again.workspace(), &[Operation::Remove("c".into())], || {});
    again.apply(&Choice::everything());
    assert!(!again.root().join("c").exists(), "the control: it was removed");
    fs::create_dir(again.root().join("c")).unwrap();
    again.apply(&Choice::everything());
    assert!(again.root().join("c").is_dir());
}

#[test]
fn a_note_that_was_lost_is_no_first_look() {
    let lost = scene(&[("x", "old"), ("other", "old")]);
    let anew = [Operation::Remove("x".into()), write("x", "rewritten")];
    in_run(&lost, lost.workspace(), &anew, || {});
    fs::write(lost.workspace().place().join("sighted.json"), "[[\"x\"").unwrap();
    fs::remove_file(lost.root().join("x")).unwrap();
    until_the_clock_ticks(&lost, "");
    another_run(&lost);
    assert_eq!(told(&lost, "x"), (Verdict::Taken, true), "nobody can tell any more, and that is told");
}

#[test]
fn what_is_added_to_a_directory_that_the_user_made_too_is_no_conflict() {
    let made = scene(&[("a", "1")]);
    in_run(&made, made.workspace(), &[write("docs/cmd", "c")], || {});
    made.host("docs/readme", "theirs");
    in_run(&made, made.workspace(), &[write("docs/new", "n")], || {});
    let applied = made.apply(&Choice::everything());
    assert!(applied.items.iter().all(|(_, verdict)| *verdict == Verdict::Taken), "{applied:?}");
    assert_eq!(made.tree()["docs/readme"].2, "theirs");
    // The same directory goes and comes back, as when somebody looks at another branch for a while.
    fs::rename(made.root().join("docs"), made.dir.join("aside")).unwrap();
    run("cp", &["-r", made.dir.join("aside").to_str().unwrap(), made.root().join("docs").to_str().unwrap()]);
    in_run(&made, made.workspace(), &[write("docs/more", "m")], || {});
    assert_eq!(told(&made, "docs/more").0, Verdict::Taken);
    // What is there and is not ours stays: the command never saw it.
    let theirs = scene(&[("mine/f", "precious")]);
    in_run(&theirs, theirs.workspace(), &[write("docs/f", "c")], || {});
    fs::rename(theirs.root().join("mine"), theirs.root().join("docs")).unwrap();
    theirs.host("docs/x", "x");
    assert!(matches!(told(&theirs, "docs/f").0, Verdict::Conflict(_)));
}

#[test]
fn a_look_counts_although_its_directory_is_away_for_a_while() {
    let scene = scene(&[("d/f", "x")]);
    in_run(&scene, scene.workspace(), &[Operation::Remove("d/f".into()), write("d/f", "new")], || {});
    fs::rename(scene.root().join("d"), scene.dir.join("away")).unwrap();
    let workspace = scene.workspace();
    let lock = workspace.lock_for_run().unwrap();
    workspace.end(lock, Keep::Changed).unwrap();
    fs::rename(scene.dir.join("away"), scene.root().join("d")).unwrap();
    fs::remove_file(scene.root().join("d/f")).unwrap();
    assert!(matches!(told(&scene, "d/f").0, Verdict::Conflict(_)));
}

#[test]
fn a_run_that_did_not_come_to_its_end_counts_as_killed() {
    let scene = scene(&[("x", "old"), ("other", "old")]);
    let workspace = scene.workspace();
    let lock = workspace.lock_for_run().unwrap().until_ended();
    in_overlay(&scene, &[Operation::Remove("x".into()), write("x", "rewritten")]);
    // Something failed on the way, and nobody looked at the tree.
    drop(lock);
    fs::remove_file(scene.root().join("x")).unwrap();
    until_the_clock_ticks(&scene, "");
    another_run(&scene);
    assert_eq!(told(&scene, "x"), (Verdict::Taken, true), "nobody can tell any more, and that is told");
}

#[test]
fn a_tree_that_is_away_when_the_run_ends_is_looked_at_later_from_the_beginning_on() {
    let scene = scene(&[("x", "old"), ("other", "old")]);
    let away = scene.dir.join("away");
    let operations = [Operation::Remove("x".into()), write("x", "rewritten")];
    in_run(&scene, scene.workspace(), &operations, || fs::rename(scene.root(), &away).unwrap());
    fs::rename(&away, scene.root()).unwrap();
    fs::remove_file(scene.root().join("x")).unwrap();
    until_the_clock_ticks(&scene, "");
    another_run(&scene);
    assert_eq!(told(&scene, "x"), (Verdict::Taken, true));
}
