//! A private copy of a repository, random operations in it and in the tree, and what apply and revert make of them; and for
//! layers as for copies, that nothing of what the user did meanwhile is lost.

use crate::operations::{Operation, crowded_operation, operation, perform};
use crate::overlay::{cases, everything, in_layers, in_run};
use crate::scene::{Scene, run};
use crate::snapshot::{Snapshot, snapshot};
use polder_workspace::{Begin, Capture, Choice, Git, Keep, Mode, Store, Unwatched, Verdict, Workspace};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// When the user does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    DuringTheRun,
    AfterIt,
}

/// A repository with some of these operations committed.
fn repository(committed: &[Operation], more: &[Operation]) -> Scene {
    let scene = Scene::new();
    let git = |arguments: &[&str]| {
        let root = scene.root().display().to_string();
        let own = ["-C", &root, "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "core.hooksPath=/dev/null"];
        run("git", &[&own, arguments].concat());
    };
    git(&["init", "-q", "."]);
    for operation in committed {
        perform(&scene.root(), operation);
    }
    git(&["add", "-A"]);
    git(&["commit", "-q", "--allow-empty", "-m", "t"]);
    for operation in more {
        perform(&scene.root(), operation);
    }
    scene
}

fn workspace(scene: &Scene) -> Workspace {
    begun(scene, Mode::Worktree)
}

fn begun(scene: &Scene, mode: Mode) -> Workspace {
    let store = Store::open(&scene.dir.join("state")).unwrap();
    let git = Git::find(&std::env::vars_os().collect(), &[&scene.root()]).unwrap();
    let borrowed = PathBuf::from("/run/polder/objects");
    let capture = Capture { git, untracked: true, borrowed, projects: Vec::new() };
    let capture = (mode == Mode::Worktree).then_some(&capture);
    let name = Some("test".parse().unwrap());
    store.begin(Begin { root: &scene.root(), name, mode, parent: None, capture }).unwrap()
}

/// Files and links: what git knows. A copy has no empty directories.
fn content(tree: &Snapshot) -> Snapshot {
    let known = |(path, entry): &(&String, &(String, u32, String))| {
        entry.0 != "directory" && *path != ".git" && !path.starts_with(".git/")
    };
    tree.iter().filter(known).map(|(path, entry)| (path.clone(), entry.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_copy_has_the_files_and_apply_gives_the_tree_what_the_command_made_of_them(
        committed in prop::collection::vec(operation(), 0..12),
        more in prop::collection::vec(operation(), 0..6),
        operations in prop::collection::vec(operation(), 0..12),
    ) {
        let scene = repository(&committed, &more);
        let old = scene.tree();
        let copy = workspace(&scene);
        prop_assert_eq!(content(&snapshot(&copy.base())), content(&old));
        let seen = in_layers(&scene, &copy.layers(), &operations);
        prop_assert_eq!(&scene.tree(), &old, "a run changes nothing");
        let applied = workspace(&scene).apply(&everything(), &mut Unwatched).unwrap();
        if applied.items.iter().all(|(_, verdict)| *verdict == Verdict::Taken) {
            prop_assert_eq!(content(&scene.tree()), content(&seen), "{:?}", applied);
        }
        if !applied.items.is_empty() {
            workspace(&scene).revert(&mut Unwatched).unwrap();
            prop_assert_eq!(&scene.tree(), &old);
        }
    }

    #[test]
    fn what_the_user_did_meanwhile_is_never_lost(
        committed in prop::collection::vec(crowded_operation(), 0..12),
        operations in prop::collection::vec(crowded_operation(), 0..10),
        meanwhile in prop::collection::vec(crowded_operation(), 0..10),
        mode in prop::sample::select(vec![Mode::Cow, Mode::Worktree]),
        when in prop::sample::select(vec![When::DuringTheRun, When::AfterIt]),
        again in prop::bool::ANY,
    ) {
        let scene = repository(&committed, &[]);
        let copied = content(&scene.tree());
        let copy = begun(&scene, mode);
        let work = || meanwhile.iter().for_each(|operation| perform(&scene.root(), operation));
        let seen = match when {
            When::DuringTheRun => in_run(&scene, copy, &operations, work),
            When::AfterIt => {
                let seen = in_run(&scene, copy, &operations, || {});
                work();
                seen
            }
        };
        if again && begun(&scene, mode).is_changed().unwrap() {
            // A run that touches nothing. The kernel may have lost its way in a layer over a tree that somebody rearranged.
            let workspace = begun(&scene, mode);
            let lock = workspace.lock_for_run().unwrap();
            workspace.end(lock, Keep::Changed).unwrap();
        }
        let seen = content(&seen);
        let users = content(&scene.tree());
        let all = Choice { include_held: vec!["**".to_owned()], ..Choice::everything() };
        let applied = begun(&scene, mode).apply(&all, &mut Unwatched).unwrap();
        let doubtful = |path: &str| {
            let told = applied.items.iter().filter(|(item, _)| item.note.is_some_and(|note| note.contains("comes back")));
            told.into_iter().any(|(item, _)| Path::new(path).starts_with(item.change.path.as_path()))
        };
        let after = content(&scene.tree());
        for path in users.keys().chain(after.keys()).chain(copied.keys()) {
            let (copied, user, seen, after) = (copied.get(path), users.get(path), seen.get(path), after.get(path));
            // Whoever alone changed something has it; where both did, it is the user's.
            if user != copied {
                // The one thing that nobody can tell: whether the user removed a file while the command wrote it anew.
                let undone = user.is_none() && when == When::DuringTheRun && doubtful(path);
                prop_assert!(after == user || undone, "{}: what the user did is lost: {:?}", path, applied);
            } else if after != user {
                prop_assert_eq!(after, seen, "{}", path);
            }
        }
    }
}

/// What became of every path that the command changed, after `meanwhile` in the tree.
fn verdicts(
    more: &[Operation],
    operations: &[Operation],
    meanwhile: &[Operation],
    choice: &Choice,
) -> (Scene, Vec<String>) {
    let written = Operation::Write("d/x".to_owned(), "one\n".to_owned());
    let scene = repository(&[written], more);
    in_layers(&scene, &workspace(&scene).layers(), operations);
    for operation in meanwhile {
        perform(&scene.root(), operation);
    }
    let applied = workspace(&scene).apply(choice, &mut Unwatched).unwrap();
    let told = |(item, verdict): &(polder_workspace::Item, Verdict)| {
        format!("{}: {verdict:?}", item.change.path.as_path().display())
    };
    let told = applied.items.iter().map(told).collect();
    (scene, told)
}

#[test]
fn a_directory_with_what_nobody_saw_is_not_replaced_and_the_rest_is_applied() {
    let unseen = [Operation::Make("c/empty".to_owned())];
    let operations = ["c", "e"].map(|path| Operation::Write(path.to_owned(), "new\n".to_owned()));
    let (scene, told) = verdicts(&unseen, &operations, &[], &everything());
    assert!(told[0].starts_with("c: Refused") && told[0].contains("move that away first"), "{told:?}");
    assert_eq!(told[1..], ["e: Taken"]);
    assert!(scene.root().join("c/empty").is_dir());
}

#[test]
fn what_was_made_in_a_directory_that_is_gone_is_in_conflict_with_that_and_can_be_forced() {
    let operations = ["d/new", "e"].map(|path| Operation::Write(path.to_owned(), "new\n".to_owned()));
    let removed = [Operation::Remove("d".to_owned())];
    let (scene, told) = verdicts(&[], &operations, &removed, &Choice::everything());
    assert!(told[0].starts_with("d: Conflict") && told[1].starts_with("d/new: Conflict"), "{told:?}");
    assert!(told[1].contains("it lies in `d`: the host removed"), "{told:?}");
    assert_eq!((told[2].as_str(), scene.root().join("d").exists()), ("e: Taken", false));
    let (scene, told) = verdicts(&[], &operations, &removed, &everything());
    assert_eq!(told, ["d: Taken", "d/new: Taken", "e: Taken"]);
    let made = scene.tree();
    assert!(made.contains_key("d/new") && !made.contains_key("d/x"), "{made:?}");
}
