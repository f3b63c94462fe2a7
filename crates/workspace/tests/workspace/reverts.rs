//! Several applies of one workspace, each taken back by a revert of its own.

use crate::scene::Scene;
use polder_workspace::{Choice, Unwatched};
use std::fs;

fn revert(scene: &Scene) -> Option<(usize, usize)> {
    let reverted = scene.workspace().revert(&mut Unwatched).unwrap();
    reverted.map(|reverted| (reverted.refused.len(), reverted.earlier))
}

#[test]
fn applies_are_each_reverted_in_order() {
    let scene = Scene::new();
    scene.host("file", "zero\n");
    scene.host("gone", "old\n");
    let mut trees = vec![scene.tree()];
    for round in ["one", "two", "three"] {
        scene.layer("file", &format!("{round}\n"));
        scene.layer(&format!("dir/{round}"), round);
        if round == "two" {
            scene.whiteout("gone");
        }
        scene.apply(&Choice::everything());
        trees.push(scene.tree());
    }
    assert_eq!(trees.pop().unwrap(), scene.tree());
    for earlier in (0..3).rev() {
        assert_eq!(revert(&scene), Some((0, earlier)));
        assert_eq!(trees.pop().unwrap(), scene.tree());
    }
    assert_eq!(revert(&scene), None, "nothing is left");
    let undo = fs::read_dir(scene.workspace().place().join("undo")).unwrap();
    assert_eq!(undo.count(), 0, "and nothing is kept");
}

#[test]
fn revert_of_the_apply_before_waits_for_what_is_refused() {
    let scene = Scene::new();
    scene.host("file", "zero\n");
    scene.layer("first", "1");
    scene.apply(&Choice::everything());
    scene.layer("file", "one\n");
    scene.layer("second", "2");
    scene.apply(&Choice::everything());
    scene.host("file", "the user's\n");
    assert_eq!(revert(&scene), Some((1, 2)));
    assert_eq!(fs::read_to_string(scene.root().join("file")).unwrap(), "the user's\n");
    assert!(scene.root().join("first").exists() && !scene.root().join("second").exists());
    fs::rename(scene.root().join("file"), scene.root().join("mine")).unwrap();
    assert_eq!(revert(&scene), Some((0, 1)));
    assert_eq!(fs::read_to_string(scene.root().join("file")).unwrap(), "zero\n");
    assert_eq!(revert(&scene), Some((0, 0)));
    assert!(!scene.root().join("first").exists());
}
