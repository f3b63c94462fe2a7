use super::*;
use std::os::unix::fs::symlink;

/// A directory of the test's own, removed with everything in it.
struct Scene(PathBuf);

impl Scene {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("polder-find.{}.{name}", std::process::id()));
        fs::create_dir(&dir).expect("a directory");
        let dir = fs::canonicalize(dir).expect("a path without links");
        Self(dir)
    }

    /// A program, with its directories, in a mode.
    fn program(&self, path: &str, mode: u32) -> PathBuf {
        let path = self.0.join(path);
        let mut dir = self.0.clone();
        for part in path.strip_prefix(&self.0).expect("a path below").parent().expect("a directory").components() {
            dir.push(part);
            let _ = fs::create_dir(&dir);
            // Whatever the umask of the test's caller is.
            fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        fs::write(&path, "#!/bin/sh\n").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        path
    }

    fn find(&self, entries: &[&str]) -> Result<Found, Missing> {
        self.find_with(entries, &[])
    }

    fn find_with(&self, entries: &[&str], writable: &[&Path]) -> Result<Found, Missing> {
        let mut host = crate::testing::host_at(&self.0.join("ws").to_string_lossy(), &[]);
        host.user.uid = polder_sys::wait::effective_ids().0;
        let full =
            entries.iter().map(|entry| if entry.starts_with("./") { PathBuf::from(entry) } else { self.0.join(entry) });
        host.environment.insert("PATH".into(), std::env::join_paths(full).expect("a PATH"));
        find(&host, writable)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Why the one program on PATH is not used.
fn reason(answer: Result<Found, Missing>) -> String {
    let Err(Missing(skipped)) = answer else { panic!("found: {answer:?}") };
    let [Skipped { reason, .. }] = &skipped[..] else { panic!("not one: {skipped:?}") };
    reason.clone()
}

#[test]
fn the_first_on_path_is_used() {
    let scene = Scene::new("first");
    let first = scene.program("a/bwrap", 0o755);
    scene.program("b/bwrap", 0o755);
    let found = scene.find(&["none", "a", "b"]).expect("one");
    assert_eq!(found, Found { path: first, skipped: Vec::new() });
}

#[test]
fn one_in_the_workspace_is_skipped_and_said_to_be() {
    let scene = Scene::new("workspace");
    let planted = scene.program("ws/bin/bwrap", 0o755);
    let real = scene.program("a/bwrap", 0o755);
    let Found { path, skipped } = scene.find(&["ws/bin", "a"]).expect("the other");
    assert_eq!(path, real);
    assert_eq!(skipped.len(), 1);
    assert_eq!(skipped[0].path, planted);
    assert!(skipped[0].to_string().contains("a sandboxed command could have written it"), "{}", skipped[0]);
}

#[test]
fn a_link_into_or_out_of_a_writable_tree_is_skipped() {
    let scene = Scene::new("links");
    let planted = scene.program("ws/bwrap", 0o755);
    let honest = scene.program("a/bwrap", 0o755);
    fs::create_dir(scene.0.join("in")).expect("a directory");
    fs::set_permissions(scene.0.join("in"), fs::Permissions::from_mode(0o755)).expect("a mode");
    symlink(planted, scene.0.join("in/bwrap")).expect("a link");
    scene.program("ws/out/x", 0o644);
    symlink(honest, scene.0.join("ws/out/bwrap")).expect("a link");
    for entry in ["in", "ws/out"] {
        assert!(reason(scene.find(&[entry])).contains("could have written it"), "{entry}");
    }
    let bind = scene.0.join("a");
    assert!(reason(scene.find_with(&["a"], &[&bind])).contains("could have written it"));
}

#[test]
fn what_others_can_write_is_skipped() {
    let scene = Scene::new("others");
    scene.program("file/bwrap", 0o777);
    scene.program("group/bwrap", 0o775);
    assert_eq!(reason(scene.find(&["file"])), "others can write it");
    assert_eq!(reason(scene.find(&["group"])), "others can write it");
    scene.program("open/deeper/bwrap", 0o755);
    fs::set_permissions(scene.0.join("open"), fs::Permissions::from_mode(0o777)).expect("a mode");
    assert!(reason(scene.find(&["open/deeper"])).contains("others can write its directory"), "an open parent");
    // Nobody can replace what is another's in a sticky directory.
    fs::set_permissions(scene.0.join("open"), fs::Permissions::from_mode(0o1777)).expect("a mode");
    scene.find(&["open/deeper"]).expect("usable");
}

#[test]
fn one_with_privileges_of_its_own_is_never_used() {
    let scene = Scene::new("setuid");
    for (name, mode) in [("u", 0o4755), ("g", 0o2755)] {
        scene.program(&format!("{name}/bwrap"), mode);
        let reason = reason(scene.find(&[name]));
        assert!(reason.contains("setuid or setgid") && reason.contains("engine `native`"), "{reason}");
    }
}

#[test]
fn a_relative_entry_is_not_followed() {
    let scene = Scene::new("relative");
    // Wherever this test runs, there is a way up to the root and down again.
    let up = std::iter::repeat_n("..", 32).collect::<PathBuf>();
    let below = scene.program("a/bwrap", 0o755);
    let entry = Path::new(".").join(up).join(below.parent().expect("a directory").strip_prefix("/").expect("absolute"));
    assert_eq!(reason(scene.find(&[&entry.to_string_lossy()])), "its entry on PATH is relative");
}

#[test]
fn what_cannot_be_executed_is_skipped() {
    let scene = Scene::new("plain");
    scene.program("a/bwrap", 0o644);
    assert_eq!(reason(scene.find(&["a"])), "it is not an executable file");
    fs::create_dir_all(scene.0.join("b/bwrap")).expect("a directory");
    assert_eq!(reason(scene.find(&["b"])), "it is not an executable file");
}

#[test]
fn none_at_all_is_said_plainly() {
    let scene = Scene::new("none");
    let missing = scene.find(&["a"]).expect_err("nothing");
    assert_eq!(missing.to_string(), "there is no `bwrap` on PATH");
}
