//! Layers that no honest command makes, and a tree that is changed under the hands of an apply.

use crate::overlay::everything;
use crate::scene::{Scene, run};
use polder_workspace::{Choice, Text, Unwatched, Verdict, Watch};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

fn upper(scene: &Scene) -> PathBuf {
    scene.workspace().layers().upper
}

fn mark(path: &Path, name: &str, value: &str) {
    let directory = polder_sys::tree::open_root(path.parent().unwrap()).unwrap();
    use std::os::fd::AsFd;
    polder_sys::tree::set_attribute(directory.as_fd(), path.file_name().unwrap(), name.as_ref(), value.as_bytes())
        .unwrap();
}

#[test]
fn forged_marks_are_refused_by_name_and_the_rest_is_applied() {
    let scene = Scene::new();
    scene.host("victim/secret", "s");
    for (path, name, value) in [
        ("redirected", "user.overlay.redirect", "/victim"),
        ("metacopy", "user.overlay.metacopy", ""),
        ("whiteouts", "user.overlay.opaque", "x"),
        ("unknown", "user.overlay.anything", "y"),
    ] {
        fs::create_dir(upper(&scene).join(path)).unwrap();
        mark(&upper(&scene).join(path), name, value);
    }
    scene.layer("escaped", "x");
    mark(&upper(&scene).join("escaped"), "user.overlay.overlay.redirect", "/victim");
    mark(&upper(&scene).join("escaped"), "user.note", "the command's own");
    let applied = scene.apply(&everything());
    let forged: Vec<_> = applied.forged.iter().map(|forged| forged.path.as_path().display().to_string()).collect();
    assert_eq!(forged, ["metacopy", "redirected", "unknown", "whiteouts"]);
    assert_eq!(scene.tree().keys().collect::<Vec<_>>(), ["escaped", "victim", "victim/secret"]);
}

#[test]
fn an_opaque_directory_hides_what_the_tree_has() {
    let scene = Scene::new();
    scene.host("dir/old", "o");
    scene.host("dir/sub/old", "o");
    scene.layer("dir/sub/new", "n");
    mark(&upper(&scene).join("dir"), "user.overlay.opaque", "y");
    scene.apply(&everything());
    assert_eq!(scene.tree().keys().collect::<Vec<_>>(), ["dir", "dir/sub", "dir/sub/new"]);
}

#[test]
fn pipes_sockets_and_devices_do_not_leave_a_workspace() {
    let scene = Scene::new();
    run("mkfifo", &[upper(&scene).join("pipe").to_str().unwrap()]);
    let _socket = std::os::unix::net::UnixListener::bind(upper(&scene).join("socket")).unwrap();
    let mut names = vec!["pipe", "socket"];
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        run("mknod", &[upper(&scene).join("device").to_str().unwrap(), "c", "1", "3"]);
        names.push("device");
    }
    let applied = scene.apply(&everything());
    for name in names {
        assert!(matches!(scene.verdict(&applied, name), Verdict::Refused(_)), "{name}");
    }
    assert!(scene.tree().is_empty());
}

#[test]
fn bits_that_give_rights_are_taken_away() {
    let scene = Scene::new();
    scene.host("kept", "same");
    fs::set_permissions(scene.root().join("kept"), fs::Permissions::from_mode(0o4755)).unwrap();
    for (path, bits) in [("setuid", 0o4755), ("setgid", 0o2755), ("sticky", 0o1644)] {
        scene.layer(path, "x");
        fs::set_permissions(upper(&scene).join(path), fs::Permissions::from_mode(bits)).unwrap();
    }
    scene.layer("kept", "evil");
    fs::set_permissions(upper(&scene).join("kept"), fs::Permissions::from_mode(0o4755)).unwrap();
    let applied = scene.apply(&everything());
    assert!(applied.items.iter().all(|(item, _)| item.stripped.is_some()), "{applied:?}");
    for (path, (_, mode, _)) in scene.tree() {
        assert_eq!(mode & 0o7000, 0, "{path}");
    }
}

#[test]
fn a_sparse_file_is_compared_and_applied_as_what_it_is() {
    let scene = Scene::new();
    let size = 1 << 40;
    let file = fs::File::create(upper(&scene).join("huge")).unwrap();
    file.set_len(size).unwrap();
    let host = fs::File::create(scene.root().join("both")).unwrap();
    host.set_len(size).unwrap();
    let both = fs::File::create(upper(&scene).join("both")).unwrap();
    both.set_len(size).unwrap();
    let review = scene.workspace().review().unwrap();
    assert_eq!(review.items.len(), 1, "a hole is a hole: {:?}", review.items);
    assert_eq!(review.text(&review.items[0]), Text::TooLarge);
    scene.apply(&everything());
    let applied = fs::metadata(scene.root().join("huge")).unwrap();
    assert_eq!(applied.len(), size);
    assert!(applied.blocks() * 512 < 1 << 20);
}

#[test]
fn a_link_in_the_tree_leads_nowhere() {
    let scene = Scene::new();
    fs::create_dir(scene.dir.join("outside")).unwrap();
    scene.host("dir/file", "x");
    scene.layer("dir/new", "evil");
    scene.layer("dir/file", "evil");
    // The directory becomes a link just before the first path is put in place.
    struct Swap(PathBuf, PathBuf, bool);
    impl Watch for Swap {
        fn step(&mut self, what: &'static str) -> io::Result<()> {
            if what == "write that everything is ready" && !self.2 {
                self.2 = true;
                fs::rename(self.0.join("dir"), self.0.join("moved"))?;
                symlink(&self.1, self.0.join("dir"))?;
            }
            Ok(())
        }
    }
    let mut swap = Swap(scene.root(), scene.dir.join("outside"), false);
    let applied = scene.workspace().apply(&everything(), &mut swap);
    assert!(swap.2 && applied.is_err(), "{applied:?}");
    assert_eq!(fs::read_dir(scene.dir.join("outside")).unwrap().count(), 0, "nothing was written through the link");
    assert_eq!(fs::read_to_string(scene.root().join("moved/file")).unwrap(), "x");
}

#[test]
fn a_name_with_escapes_is_a_name_and_depth_has_an_end() {
    let scene = Scene::new();
    scene.layer("a\u{1b}[2Jb\nc", "x");
    let deep = vec!["d"; 300].join("/");
    fs::create_dir_all(upper(&scene).join(&deep)).unwrap();
    let applied = scene.apply(&Choice::everything());
    assert_eq!(applied.forged.len(), 1, "{:?}", applied.forged);
    assert!(scene.root().join("a\u{1b}[2Jb\nc").exists());
}

#[test]
fn what_was_hidden_is_not_shown_and_not_touched() {
    let scene = Scene::new();
    scene.host("secrets/key", "very secret");
    scene.workspace().hide(&["secrets".to_owned()]).unwrap();
    scene.whiteout("secrets");
    let review = scene.workspace().review().unwrap();
    assert!(!review.items.is_empty());
    for item in &review.items {
        assert_eq!(review.text(item), Text::Hidden);
    }
    scene.apply(&everything());
    assert_eq!(fs::read_to_string(scene.root().join("secrets/key")).unwrap(), "very secret");
}

#[test]
fn a_replaced_tree_is_refused() {
    let scene = Scene::new();
    scene.layer("file", "x");
    let workspace = scene.workspace();
    fs::rename(scene.root(), scene.dir.join("old")).unwrap();
    fs::create_dir(scene.root()).unwrap();
    assert!(workspace.apply(&everything(), &mut Unwatched).is_err());
    assert!(scene.tree().is_empty());
}

#[test]
fn workspaces_of_one_tree_are_applied_one_after_the_other() {
    let scene = Scene::new();
    let store = polder_workspace::Store::open(&scene.dir.join("state")).unwrap();
    std::thread::scope(|scope| {
        for index in 0..100 {
            let (store, scene) = (&store, &scene);
            scope.spawn(move || {
                let begin = polder_workspace::Begin {
                    root: &scene.root(),
                    name: None,
                    mode: polder_workspace::Mode::Cow,
                    parent: None,
                    capture: None,
                };
                let workspace = store.begin(begin).unwrap();
                fs::write(workspace.layers().upper.join(format!("file-{index}")), "x").unwrap();
                workspace.apply(&Choice::everything(), &mut Unwatched).unwrap();
            });
        }
    });
    assert_eq!(scene.tree().len(), 100);
    assert_eq!(store.list().unwrap().len(), 100);
}

#[test]
fn a_path_that_no_call_can_name_is_refused_and_nothing_is_stuck() {
    use std::os::fd::AsFd;
    let scene = Scene::new();
    scene.layer("fine", "x");
    let name = "n".repeat(250);
    let mut here = polder_sys::tree::open_root(&upper(&scene)).unwrap();
    for _ in 0..20 {
        polder_sys::tree::make_directory(here.as_fd(), name.as_ref(), 0o755).unwrap();
        here = polder_sys::tree::open_below(here.as_fd(), Path::new(&name)).unwrap();
    }
    drop(here);
    let applied = scene.apply(&Choice::everything());
    assert_eq!(applied.forged.len(), 1, "{:?}", applied.forged);
    assert!(scene.root().join("fine").exists() && !scene.workspace().is_interrupted());
    let workspace = scene.workspace();
    assert!(workspace.revert(&mut Unwatched).unwrap().unwrap().refused.is_empty());
    assert!(scene.tree().is_empty());
    let lock = workspace.lock_for_run().unwrap();
    workspace.discard(lock).unwrap();
}

#[test]
fn a_closed_root_closes_nothing() {
    let scene = Scene::new();
    scene.layer("file", "x");
    fs::set_permissions(upper(&scene), fs::Permissions::from_mode(0o0)).unwrap();
    assert!(scene.workspace().is_changed().unwrap());
    fs::set_permissions(upper(&scene), fs::Permissions::from_mode(0o0)).unwrap();
    scene.apply(&Choice::everything());
    assert!(scene.root().join("file").exists());
    fs::set_permissions(upper(&scene), fs::Permissions::from_mode(0o0)).unwrap();
    let workspace = scene.workspace();
    let lock = workspace.lock_for_run().unwrap();
    workspace.discard(lock).unwrap();
}

/// Only root can have files of several owners.
#[test]
fn what_the_command_wrote_does_not_become_roots() {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return;
    }
    let scene = Scene::new();
    let owner = |path: &Path, id: u32| std::os::unix::fs::lchown(path, Some(id), Some(id)).unwrap();
    owner(&scene.root(), 12345);
    for path in ["theirs", "roots"] {
        scene.host(path, "old");
        scene.layer(path, "new");
    }
    owner(&upper(&scene).join("theirs"), 12345);
    scene.apply(&everything());
    let uid = |path: &str| fs::metadata(scene.root().join(path)).unwrap().uid();
    assert_eq!((uid("theirs"), uid("roots")), (12345, 0));
}
