//! An apply that ends at any step: killed, or failed by the disk. Afterwards everything is in place, or nothing is, and what
//! was interrupted can be brought to either end.

use crate::overlay::everything;
use crate::scene::Scene;
use crate::snapshot::Snapshot;
use polder_workspace::{ApplyError, Choice, Settled, Unwatched, Watch};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which scene, which verb and which step the second process is about.
const CHILD: &str = "POLDER_TEST_CRASH";

/// More steps than any scene here has.
const STEPS_MAX: usize = 400;

/// Ends the process, or fails, before the step of this number.
struct At {
    step: usize,
    seen: usize,
    error: Option<i32>,
}

impl Watch for At {
    fn step(&mut self, _: &'static str) -> io::Result<()> {
        self.seen += 1;
        match self.error {
            _ if self.seen != self.step => Ok(()),
            Some(number) => Err(io::Error::from_raw_os_error(number)),
            // Nothing is tidied: to the file system this is `kill -9`.
            None => std::process::abort(),
        }
    }
}

/// A tree, and a layer with every sort of change.
fn scene() -> Scene {
    let scene = Scene::new();
    for (path, text) in [
        ("same", "s"),
        ("changed", "old"),
        ("gone", "g"),
        ("bits", "b"),
        ("dir/a", "1"),
        ("dir/sub/b", "2"),
        ("moved", "content"),
        ("file-then-directory", "f"),
        ("directory-then-file/x", "x"),
        ("opened/x", "x"),
        ("opened/y", "y"),
    ] {
        scene.host(path, text);
    }
    symlink("same", scene.root().join("link")).unwrap();
    std::fs::set_permissions(scene.root().join("opened"), std::fs::Permissions::from_mode(0o555)).unwrap();
    std::fs::set_permissions(scene.root().join("dir/sub"), std::fs::Permissions::from_mode(0o750)).unwrap();
    let upper = scene.workspace().layers().upper;
    for (path, text) in [
        ("changed", "new"),
        ("added", "a"),
        ("bits", "b"),
        ("new/deep/file", "n"),
        ("new/other", "o"),
        ("renamed", "content"),
        ("file-then-directory/inside", "i"),
        ("directory-then-file", "d"),
        ("opened/z", "z"),
    ] {
        scene.layer(path, text);
    }
    symlink("changed", upper.join("link")).unwrap();
    symlink("nowhere", upper.join("new/dangling")).unwrap();
    std::fs::set_permissions(upper.join("bits"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(upper.join("new/deep"), std::fs::Permissions::from_mode(0o500)).unwrap();
    for path in ["gone", "dir", "moved"] {
        scene.whiteout(path);
    }
    scene
}

/// The part that is killed.
#[test]
#[ignore = "a part of the tests below, which start it"]
fn child() {
    let Some(told) = std::env::var_os(CHILD) else { return };
    let told = told.into_string().unwrap();
    let [dir, verb, step] = told.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let scene = Scene::at(Path::new(dir));
    let mut at = At { step: step.parse().unwrap(), seen: 0, error: None };
    let workspace = scene.workspace();
    match verb {
        "apply" => drop(workspace.apply(&everything(), &mut at).unwrap()),
        "abort" => drop(workspace.abort(&mut at).unwrap()),
        "resume" => drop(workspace.resume(&mut at).unwrap()),
        "revert" => drop(workspace.revert(&mut at).unwrap()),
        other => panic!("{other}"),
    }
}

/// Does something in another process, which is killed before a step. Says whether it was.
pub(crate) fn killed(scene: &Scene, verb: &str, step: usize) -> bool {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--ignored", "--quiet"])
        .env(CHILD, format!("{} {verb} {step}", scene.dir.display()))
        .output()
        .unwrap();
    let by_signal = std::os::unix::process::ExitStatusExt::signal(&output.status).is_some();
    assert!(by_signal || output.status.success(), "{verb} {step}: {}", String::from_utf8_lossy(&output.stdout));
    by_signal
}

/// How the tree is before and after an apply of this scene.
fn ends() -> (Snapshot, Snapshot) {
    let scene = scene();
    let before = scene.tree();
    scene.apply(&everything());
    (before, scene.tree())
}

#[test]
fn the_scene_has_every_sort_of_change_and_a_revert_takes_all_of_it_back() {
    let scene = scene();
    let before = scene.tree();
    let applied = scene.apply(&everything());
    let mut sorts: Vec<_> = applied.items.iter().map(|(item, _)| item.change.what.name()).collect();
    sorts.sort_unstable();
    sorts.dedup();
    assert_eq!(sorts, ["added", "deleted", "mode", "modified", "renamed", "target", "type"]);
    assert_ne!(scene.tree(), before);
    let reverted = scene.workspace().revert(&mut Unwatched).unwrap().unwrap();
    assert_eq!((scene.tree(), reverted.refused), (before, Vec::new()));
}

#[test]
fn killed_at_any_step_it_can_be_resumed_and_it_can_be_aborted() {
    let (before, after) = ends();
    for step in 1..STEPS_MAX {
        let scene = scene();
        if !killed(&scene, "apply", step) {
            assert!(step > 20, "only {step} steps");
            assert_eq!(scene.tree(), after);
            return;
        }
        let journal = scene.workspace().is_interrupted();
        if journal {
            assert!(scene.workspace().lock_for_run().is_err(), "nobody runs on a half applied workspace");
        }
        let settled = if step % 2 == 0 {
            scene.workspace().resume(&mut Unwatched)
        } else {
            scene.workspace().abort(&mut Unwatched)
        };
        let expected = match settled.unwrap() {
            Settled::Applied { left } if left.is_empty() => &after,
            Settled::Applied { left } => panic!("step {step}: {left:?}"),
            Settled::NotApplied { .. } => &before,
            Settled::Nothing => {
                if journal {
                    panic!("step {step}")
                } else if scene.tree() == after {
                    &after
                } else {
                    &before
                }
            }
        };
        assert_eq!(&scene.tree(), expected, "step {step}");
        assert!(scene.workspace().lock_for_run().is_ok(), "step {step}");
        // Whatever happened, the change can still be applied.
        scene.apply(&everything());
        assert_eq!(scene.tree(), after, "step {step}");
    }
    panic!("more than {STEPS_MAX} steps");
}

#[test]
fn going_back_can_itself_be_killed_at_any_step() {
    let (before, after) = ends();
    // Far enough that some paths are in place and some are not.
    let far = (1..STEPS_MAX)
        .find(|step| {
            let scene = scene();
            !killed(&scene, "apply", *step)
        })
        .unwrap()
        - 6;
    for step in 1..STEPS_MAX {
        let scene = scene();
        assert!(killed(&scene, "apply", far));
        assert_ne!(scene.tree(), before);
        if !killed(&scene, "abort", step) {
            assert_eq!(scene.tree(), before);
            return;
        }
        let settled = scene.workspace().resume(&mut Unwatched).unwrap();
        assert_eq!(
            scene.tree(),
            if settled == (Settled::Applied { left: Vec::new() }) { after.clone() } else { before.clone() },
            "step {step}"
        );
    }
}

#[test]
fn a_revert_can_be_killed_at_any_step() {
    let (before, after) = ends();
    for step in 1..STEPS_MAX {
        let scene = scene();
        scene.apply(&everything());
        if !killed(&scene, "revert", step) {
            assert_eq!(scene.tree(), before);
            return;
        }
        let settled = scene.workspace().resume(&mut Unwatched).unwrap();
        let expected = if matches!(settled, Settled::NotApplied { .. }) { &before } else { &after };
        assert_eq!(&scene.tree(), expected, "step {step} {settled:?}");
    }
}

#[test]
fn a_disk_that_fails_at_any_step_leaves_the_tree_as_it_was() {
    const EIO: i32 = 5;
    const ENOSPC: i32 = 28;
    let (before, after) = ends();
    for step in 1..STEPS_MAX {
        let scene = scene();
        let error = if step % 2 == 0 { EIO } else { ENOSPC };
        let mut at = At { step, seen: 0, error: Some(error) };
        let applied = scene.workspace().apply(&everything(), &mut at);
        match applied {
            Err(ApplyError::NotApplied { left, source }) => {
                assert!(left.0.is_empty(), "step {step}: {left:?}");
                assert_eq!((source.raw_os_error(), scene.tree()), (Some(error), before.clone()), "step {step}");
            }
            Ok(_) => {
                assert_eq!(scene.tree(), after, "step {step}");
                assert!(at.seen < step);
                return;
            }
            Err(other) => panic!("step {step}: {other}"),
        }
        assert!(!scene.workspace().is_interrupted(), "step {step}");
    }
}

#[test]
fn nothing_lies_about_after_an_apply() {
    let scene = scene();
    scene.apply(&everything());
    let left: Vec<PathBuf> =
        scene.tree().keys().map(PathBuf::from).filter(|path| path.to_string_lossy().contains(".polder-")).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[test]
fn an_apply_that_failed_at_any_step_is_not_in_the_way_of_reverting_the_one_before() {
    const EIO: i32 = 5;
    for step in 1..STEPS_MAX {
        let scene = Scene::new();
        for path in ["file", "gone", "bits", "link"] {
            scene.host(path, "old");
        }
        let before = scene.tree();
        scene.layer("file", "one");
        scene.layer("new", "one");
        scene.layer("bits", "one");
        let upper = scene.workspace().layers().upper;
        symlink("one", upper.join("link")).unwrap();
        scene.apply(&everything());
        scene.layer("file", "two");
        std::fs::set_permissions(upper.join("bits"), std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::remove_file(upper.join("link")).unwrap();
        symlink("two", upper.join("link")).unwrap();
        std::fs::remove_file(upper.join("new")).unwrap();
        scene.whiteout("new");
        scene.whiteout("gone");
        let mut at = At { step, seen: 0, error: Some(EIO) };
        if scene.workspace().apply(&everything(), &mut at).is_ok() {
            assert!(step > 10, "only {step} steps");
            return;
        }
        let reverted = scene.workspace().revert(&mut Unwatched).unwrap().unwrap();
        assert_eq!((scene.tree(), reverted.refused), (before, Vec::new()), "step {step}");
    }
    panic!("more than {STEPS_MAX} steps");
}

/// A tree and a layer with files that replace others, and one that is new.
fn many() -> Scene {
    let scene = Scene::new();
    for number in 0..6 {
        scene.host(&format!("f{number}"), "old");
        scene.layer(&format!("f{number}"), "new");
    }
    scene.layer("aaa", "new");
    scene
}

/// What is in place already is changed by the user, in place. Says which paths those are.
fn edit_what_is_new(scene: &Scene) -> Vec<String> {
    let tree = scene.tree();
    let new = tree.iter().filter(|(path, entry)| entry.2 == "new" && !path.contains(".polder-"));
    let new: Vec<String> = new.map(|(path, _)| path.clone()).collect();
    for path in &new {
        std::fs::write(scene.root().join(path), "mine").unwrap();
    }
    new
}

#[test]
fn what_the_user_writes_into_a_path_that_is_in_place_stays_whatever_becomes_of_the_apply() {
    let mut edited_some = false;
    for step in 1..STEPS_MAX {
        for verb in ["abort", "resume"] {
            let scene = many();
            if !killed(&scene, "apply", step) {
                assert!(edited_some, "no step left anything in place");
                return;
            }
            let edited = edit_what_is_new(&scene);
            edited_some |= !edited.is_empty();
            let is_mine = |when: &str| {
                let tree = scene.tree();
                assert!(edited.iter().all(|path| tree[path].2 == "mine"), "step {step}, {verb}, {when}: {tree:?}");
            };
            let settled = match verb {
                "abort" => scene.workspace().abort(&mut Unwatched).unwrap(),
                _ => scene.workspace().resume(&mut Unwatched).unwrap(),
            };
            is_mine("settled");
            if let Settled::Applied { left } | Settled::NotApplied { left } = settled {
                let left: Vec<_> = left.iter().map(|path| path.as_path().display().to_string()).collect();
                assert_eq!(left, edited, "step {step}, {verb}: all of it is told");
            }
            // Nothing of it counts as ours afterwards.
            scene.apply(&Choice::everything());
            is_mine("applied again");
            scene.workspace().revert(&mut Unwatched).unwrap();
            is_mine("reverted");
        }
    }
    panic!("more than {STEPS_MAX} steps");
}

/// The user writes into what is in place before a step, which then fails or does not.
struct Meddling<'a> {
    scene: &'a Scene,
    step: usize,
    seen: usize,
    error: Option<i32>,
    edited: Vec<String>,
}

impl Watch for Meddling<'_> {
    fn step(&mut self, _: &'static str) -> io::Result<()> {
        self.seen += 1;
        if self.seen != self.step {
            return Ok(());
        }
        self.edited = edit_what_is_new(self.scene);
        self.error.map_or(Ok(()), |number| Err(io::Error::from_raw_os_error(number)))
    }
}

#[test]
fn what_the_user_writes_while_an_apply_goes_on_or_fails_stays_and_is_told() {
    const EIO: i32 = 5;
    for error in [None, Some(EIO)] {
        for step in 1..STEPS_MAX {
            let scene = many();
            let mut meddling = Meddling { scene: &scene, step, seen: 0, error, edited: Vec::new() };
            let applied = scene.workspace().apply(&everything(), &mut meddling);
            let Meddling { seen, edited, .. } = meddling;
            if seen < step {
                assert!(step > 10, "only {step} steps");
                break;
            }
            if let Err(ApplyError::NotApplied { left, .. }) = &applied {
                let left: Vec<_> = left.0.iter().map(|path| path.as_path().display().to_string()).collect();
                assert_eq!(left, edited, "step {step}");
            } else {
                assert!(applied.is_ok() || error.is_some(), "step {step}: {applied:?}");
            }
            scene.apply(&Choice::everything());
            scene.workspace().revert(&mut Unwatched).unwrap();
            let tree = scene.tree();
            assert!(edited.iter().all(|path| tree[path].2 == "mine"), "step {step}, {error:?}: {edited:?} {tree:?}");
        }
    }
}

#[test]
fn what_was_taken_back_is_nobodys_any_more_when_the_rest_is_reverted_later() {
    const EIO: i32 = 5;
    let bits = |path: PathBuf, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let mut tried = 0;
    for step in 1..STEPS_MAX {
        let scene = many();
        scene.host("bits", "b");
        scene.layer("bits", "b");
        bits(scene.root().join("bits"), 0o644);
        bits(scene.workspace().layers().upper.join("bits"), 0o600);
        let mut meddling = Meddling { scene: &scene, step, seen: 0, error: Some(EIO), edited: Vec::new() };
        let applied = scene.workspace().apply(&everything(), &mut meddling);
        if meddling.seen < step {
            break;
        }
        if !matches!(applied, Err(ApplyError::NotApplied { left, .. }) if !left.0.is_empty()) {
            continue;
        }
        // What the apply would have done, the user does, and it is the user's.
        bits(scene.root().join("bits"), 0o600);
        let users = scene.tree();
        let reverted = scene.workspace().revert(&mut Unwatched).unwrap();
        assert_eq!(scene.tree(), users, "step {step}");
        // Where only something new was written into, there is nothing to bring back.
        if let Some(reverted) = reverted {
            tried += 1;
            assert_eq!(reverted.restored, Vec::new(), "step {step}");
        }
    }
    assert!(tried > 0, "no step left anything in place");
}
