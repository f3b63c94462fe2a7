//! A real overlay, random operations in it, and what review, apply and revert make of them.

use crate::operations::{Operation, operation, perform};
use crate::scene::Scene;
use crate::snapshot::{Snapshot, difference, snapshot};
use polder_workspace::{Choice, Keep, Layers, Unwatched, Verdict, What, Workspace};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// What the second process is told.
const CHILD: &str = "POLDER_TEST_OVERLAY";
/// A text for a shell in the overlay.
const SCRIPT: &str = "POLDER_TEST_OVERLAY_SCRIPT";
/// That it is to look at nothing in the end.
const UNSEEN: &str = "POLDER_TEST_OVERLAY_UNSEEN";

/// The part that runs with the overlay mounted: does the operations and writes down what it sees.
#[test]
#[ignore = "a part of the tests below, which start it"]
fn child() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let dir = Path::new(&dir);
    let text = fs::read_to_string(dir.join("operations")).unwrap();
    let operations: Vec<Operation> = serde_json::from_str(&text).unwrap();
    for operation in &operations {
        perform(&dir.join("merged"), operation);
    }
    if let Some(script) = std::env::var_os(SCRIPT) {
        let done = Command::new("sh").arg("-ec").arg(script).current_dir(dir.join("merged")).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    // Who closed something to everybody has nothing to see.
    if std::env::var_os(UNSEEN).is_none() {
        fs::write(dir.join("seen"), serde_json::to_string(&snapshot(&dir.join("merged"))).unwrap()).unwrap();
    }
}

/// Does operations over the tree of a scene, as a command in a sandbox would. Returns what the command saw in the end.
pub(crate) fn in_overlay(scene: &Scene, operations: &[Operation]) -> Snapshot {
    in_layers(scene, &scene.workspace().layers(), operations)
}

/// The same by a command that looks at nothing in the end.
pub(crate) fn in_overlay_unseen(scene: &Scene, operations: &[Operation]) {
    start(scene, &scene.workspace().layers(), operations, Some((UNSEEN, "1")));
}

/// The same by a shell, as a run: its end is noted.
pub(crate) fn in_shell(scene: &Scene, script: &str) {
    let workspace = scene.workspace();
    let lock = workspace.lock_for_run().unwrap();
    start(scene, &workspace.layers(), &[], Some((SCRIPT, script)));
    workspace.end(lock, Keep::Changed).unwrap();
}

/// The same over the layers of a workspace.
pub(crate) fn in_layers(scene: &Scene, layers: &Layers, operations: &[Operation]) -> Snapshot {
    start(scene, layers, operations, None);
    serde_json::from_str(&fs::read_to_string(scene.dir.join("seen")).unwrap()).unwrap()
}

fn start(scene: &Scene, layers: &Layers, operations: &[Operation], told: Option<(&str, &str)>) {
    fs::write(scene.dir.join("operations"), serde_json::to_string(operations).unwrap()).unwrap();
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let options = format!(
        "lowerdir={},upperdir={},workdir={},userxattr",
        layers.lower.display(),
        layers.upper.display(),
        layers.work.display()
    );
    let script = r#"mount -t overlay overlay -o "$1" "$2" && exec "$3" --exact overlay::child --ignored --quiet"#;
    let output = Command::new("unshare")
        .arg(if root { "-m" } else { "-Urm" })
        .args(["--", "sh", "-c", script, "sh", &options])
        .arg(scene.dir.join("merged"))
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, &scene.dir)
        .envs(told)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The same from beginning to end, as a run: nobody else has the workspace, and its end is noted. `during` happens on the host
/// when the command is done and the run has not ended.
pub(crate) fn in_run(scene: &Scene, workspace: Workspace, operations: &[Operation], during: impl FnOnce()) -> Snapshot {
    let lock = workspace.lock_for_run().unwrap();
    let seen = in_layers(scene, &workspace.layers(), operations);
    during();
    workspace.end(lock, Keep::Changed).unwrap();
    seen
}

/// Everything, whatever stands against it.
pub(crate) fn everything() -> Choice {
    let all = vec!["**".to_owned()];
    Choice { include_held: all.clone(), force: all, ..Choice::everything() }
}

pub(crate) fn cases() -> u32 {
    std::env::var("POLDER_TEST_MODEL_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn diff_is_the_difference_and_apply_makes_the_tree_what_the_command_saw(
        before in prop::collection::vec(operation(), 0..15),
        rounds in prop::collection::vec(prop::collection::vec(operation(), 0..12), 1..3),
    ) {
        let scene = Scene::new();
        for operation in &before {
            perform(&scene.root(), operation);
        }
        for operations in &rounds {
            let old = scene.tree();
            let seen = in_overlay(&scene, operations);
            prop_assert_eq!(&scene.tree(), &old, "a run changes nothing");
            let mut named = BTreeMap::new();
            let review = scene.workspace().review().unwrap();
            prop_assert!(review.forged.is_empty(), "{:?}", review.forged);
            for item in &review.items {
                let path = |path: &polder_workspace::Relative| path.as_path().display().to_string();
                if let What::Renamed { from } = &item.change.what {
                    named.insert(path(from), "deleted");
                    named.insert(path(&item.change.path), "added");
                } else {
                    named.insert(path(&item.change.path), item.change.what.name());
                }
            }
            prop_assert_eq!(&named, &difference(&old, &seen));
            let applied = scene.workspace().apply(&everything(), &mut Unwatched).unwrap();
            prop_assert!(applied.items.iter().all(|(_, verdict)| *verdict == Verdict::Taken), "{:?}", applied);
            prop_assert_eq!(&scene.tree(), &seen);
            prop_assert!(scene.workspace().review().unwrap().items.is_empty(), "nothing is left to do");
            if applied.items.is_empty() {
                // There is nothing to revert; what an earlier apply did is another question.
                continue;
            }
            let reverted = scene.workspace().revert(&mut Unwatched).unwrap();
            prop_assert_eq!(&scene.tree(), &old);
            prop_assert!(reverted.is_none_or(|reverted| reverted.refused.is_empty()));
            scene.workspace().apply(&everything(), &mut Unwatched).unwrap();
            prop_assert_eq!(&scene.tree(), &seen);
        }
    }
}
