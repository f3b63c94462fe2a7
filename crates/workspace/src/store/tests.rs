use super::*;
use crate::about::Keep;
use std::os::unix::fs::PermissionsExt;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("polder-store-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("tree/below")).unwrap();
        Self(fs::canonicalize(path).unwrap())
    }

    fn store(&self) -> Store {
        Store::open(&self.0.join("state/workspaces")).unwrap()
    }

    fn root(&self) -> PathBuf {
        self.0.join("tree")
    }

    fn begin(&self, name: Option<&str>) -> Result<Workspace, StoreError> {
        let name = name.map(|name| name.parse().unwrap());
        self.store().begin(Begin { root: &self.root(), name, mode: Mode::Cow, parent: None, capture: None })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn a_named_workspace_is_opened_again_and_an_unnamed_one_is_new() {
    let scratch = Scratch::new("named");
    let first = scratch.begin(Some("task")).unwrap();
    fs::write(first.layers().upper.join("file"), "x").unwrap();
    let again = scratch.begin(Some("task")).unwrap();
    assert_eq!((first.place(), first.about.began), (again.place(), again.about.began));
    assert!(again.is_changed().unwrap());
    let (one, two) = (scratch.begin(None).unwrap(), scratch.begin(None).unwrap());
    assert_ne!(one.name(), two.name());
    assert_eq!(scratch.store().list().unwrap().len(), 3);
    assert_eq!(scratch.store().newest(&scratch.root().join("below")).unwrap().name(), two.name());
    let name = "task".parse().unwrap();
    assert_eq!(scratch.store().find(&name, Path::new("/")).unwrap().place(), first.place());
    assert!(scratch.store().newest(&scratch.0).is_err());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    // Searching is all that root gives, and the store above gives nobody even that.
    assert_eq!(mode(first.place()) & 0o766, 0o700);
    assert_eq!(mode(&first.layers().upper), mode(&scratch.root()), "the command sees it as the root of the tree");
}

#[test]
fn a_workspace_of_another_tree_is_not_the_one_that_is_meant() {
    let scratch = Scratch::new("trees");
    let store = scratch.store();
    let inner = scratch.root().join("below");
    let name: Name = "task".parse().unwrap();
    let begin = |root: &Path, name: &str| {
        let name = Some(name.parse().unwrap());
        store.begin(Begin { root, name, mode: Mode::Cow, parent: None, capture: None }).unwrap()
    };
    let deep = begin(&inner, "deep");
    let task = begin(&scratch.root(), "task");
    assert_eq!(store.newest(&inner).unwrap().place(), deep.place(), "the newer one is that of the tree around");
    assert_eq!(store.newest(&scratch.root()).unwrap().place(), task.place());
    let within = begin(&inner, "task");
    begin(&scratch.root(), "newer");
    assert_eq!(store.find_here(&name, &inner).unwrap().place(), within.place());
    assert_eq!(store.find_here(&name, &scratch.root()).unwrap().place(), task.place());
    let lock = within.lock_for_run().unwrap();
    within.discard(lock).unwrap();
    let error = store.find_here(&name, &scratch.0).unwrap_err().to_string();
    assert!(error.contains(&format!("-C {}", scratch.root().display())), "{error}");
    assert_eq!(store.find(&name, &scratch.0).unwrap().place(), task.place(), "looking at it harms nobody");
}

#[test]
fn one_that_is_damaged_is_named_and_in_nobodys_way() {
    let scratch = Scratch::new("damaged");
    let store = scratch.store();
    let name: Name = "hurt".parse().unwrap();
    let fine = scratch.begin(Some("fine")).unwrap();
    for damage in ["", "{", "absent"] {
        let hurt = scratch.begin(Some("hurt")).unwrap();
        match damage {
            "absent" => fs::remove_file(hurt.place().join(ABOUT)).unwrap(),
            text => fs::write(hurt.place().join(ABOUT), text).unwrap(),
        }
        assert_eq!(store.list().unwrap().len(), 1);
        assert_eq!(store.newest(&scratch.root()).unwrap().place(), fine.place());
        assert_eq!(store.find_here(fine.name(), &scratch.root()).unwrap().place(), fine.place());
        let named: Vec<_> = store.damaged().unwrap().into_iter().map(|damaged| (damaged.name, damaged.place)).collect();
        assert_eq!(named, [("hurt".to_owned(), hurt.place().to_owned())]);
        let error = scratch.begin(Some("hurt")).unwrap_err().to_string();
        assert!(error.contains("`polder workspace discard hurt`"), "{error}");
        let lock = hurt.lock_for_run().unwrap();
        assert!(matches!(store.remove_damaged(&name, &scratch.root()), Err(StoreError::InUse { .. })));
        drop(lock);
        assert!(!store.remove_damaged(fine.name(), &scratch.root()).unwrap(), "it is not damaged");
        assert!(store.remove_damaged(&name, &scratch.root().join("below")).unwrap());
        assert!(store.damaged().unwrap().is_empty() && fine.is_there());
    }
}

#[test]
fn an_interrupted_apply_of_a_tree_that_is_gone_is_discarded() {
    let scratch = Scratch::new("gone");
    let workspace = scratch.begin(Some("task")).unwrap();
    fs::write(workspace.place().join("journal"), "").unwrap();
    let error = workspace.lock_for_discard().unwrap_err().to_string();
    assert!(error.contains("apply task --resume"), "{error}");
    fs::rename(scratch.root(), scratch.0.join("moved")).unwrap();
    drop(workspace.lock_for_discard().unwrap());
    fs::create_dir(scratch.root()).unwrap();
    let lock = workspace.lock_for_discard().unwrap();
    workspace.discard(lock).unwrap();
}

#[test]
fn what_a_killed_run_without_a_name_left_is_ended_by_the_next() {
    let scratch = Scratch::new("passing");
    let begin = |keep: Option<Keep>, changed: bool| {
        let workspace = scratch.begin(None).unwrap();
        let lock = workspace.lock_for_run().unwrap();
        keep.iter().for_each(|keep| workspace.passes(*keep).unwrap());
        if changed {
            fs::write(workspace.layers().upper.join("file"), "x").unwrap();
        }
        (workspace, lock)
    };
    let (thrown, unchanged) = (begin(Some(Keep::Never), true), begin(Some(Keep::Changed), false));
    let (changed, always) = (begin(Some(Keep::Changed), true), begin(None, false));
    let (running, ended) = (begin(Some(Keep::Never), true), begin(Some(Keep::Changed), true));
    ended.0.end(ended.1, Keep::Changed).unwrap();
    // Whoever is killed lets go of the lock and does nothing else.
    for lock in [thrown.1, unchanged.1, changed.1, always.1] {
        drop(lock);
    }
    assert_eq!(scratch.store().list().unwrap().len(), 4);
    assert!(!thrown.0.is_there() && !unchanged.0.is_there());
    assert!(changed.0.is_there() && always.0.is_there() && running.0.is_there());
    drop(running.1);
    assert_eq!(scratch.store().list().unwrap().len(), 3);
    let names = fs::read_dir(scratch.store().place()).unwrap().count();
    assert_eq!(names, 3, "no note stays");
}

#[test]
fn one_run_at_a_time() {
    let scratch = Scratch::new("lock");
    let first = scratch.begin(Some("task")).unwrap();
    let lock = first.lock_for_run().unwrap();
    let again = scratch.begin(Some("task")).unwrap();
    let error = again.lock_for_run().unwrap_err().to_string();
    assert!(error.contains(&format!("in use by pid {}", std::process::id())), "{error}");
    drop(lock);
    again.lock_for_run().unwrap();
}

#[test]
fn what_was_not_changed_does_not_stay_unless_it_is_asked_for() {
    let scratch = Scratch::new("keep");
    let count = || scratch.store().list().unwrap().len();
    for (keep, changed, stays) in [
        (Keep::Always, false, true),
        (Keep::Changed, false, false),
        (Keep::Changed, true, true),
        (Keep::Never, true, false),
    ] {
        let before = count();
        let workspace = scratch.begin(None).unwrap();
        if changed {
            fs::create_dir(workspace.layers().upper.join("new")).unwrap();
        }
        let lock = workspace.lock_for_run().unwrap();
        workspace.end(lock, keep).unwrap();
        assert_eq!(count() - before, usize::from(stays), "{keep:?} {changed}");
    }
}

#[test]
fn a_directory_that_was_made_again_is_another_one_whatever_number_it_got() {
    let scratch = Scratch::new("again");
    let number = |path: PathBuf| fs::metadata(path).unwrap().ino();
    let workspace = scratch.begin(Some("task")).unwrap();
    let before = number(scratch.root());
    assert!(scratch.begin(Some("task")).is_ok() && workspace.review().is_ok(), "the control: it is the same one");
    // Some file systems give the number out again at once.
    for _ in 0..20 {
        fs::remove_dir_all(scratch.root()).unwrap();
        fs::create_dir(scratch.root()).unwrap();
        if number(scratch.root()) == before {
            break;
        }
    }
    assert!(matches!(scratch.begin(Some("task")), Err(StoreError::Replaced { .. })));
    assert!(matches!(workspace.review(), Err(StoreError::Replaced { .. })));
}

#[test]
fn a_name_of_a_directory_that_was_replaced_is_refused() {
    let scratch = Scratch::new("replaced");
    scratch.begin(Some("task")).unwrap();
    fs::rename(scratch.root(), scratch.0.join("old")).unwrap();
    fs::create_dir(scratch.root()).unwrap();
    assert!(matches!(scratch.begin(Some("task")), Err(StoreError::Replaced { .. })));
    fs::remove_dir(scratch.root()).unwrap();
    std::os::unix::fs::symlink("/", scratch.root()).unwrap();
    assert!(matches!(scratch.begin(Some("task")), Err(StoreError::StoreInside { .. })), "`/` holds the store");
}

#[test]
fn a_store_in_the_tree_or_open_to_others_is_refused() {
    let scratch = Scratch::new("unsafe");
    let inside = Store::open(&scratch.root().join("state")).unwrap();
    let begun = inside.begin(Begin { root: &scratch.root(), name: None, mode: Mode::Cow, parent: None, capture: None });
    assert!(matches!(begun, Err(StoreError::StoreInside { .. })));
    let open = scratch.0.join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(Store::open(&open), Err(StoreError::Unsafe { .. })));
}

#[test]
fn many_begin_at_once() {
    let scratch = Scratch::new("many");
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..100)
            .map(|index| {
                let scratch = &scratch;
                scope.spawn(move || scratch.begin((index % 2 == 0).then_some("shared")).unwrap().place().to_owned())
            })
            .collect();
        let mut places: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        places.sort();
        places.dedup();
        assert_eq!(places.len(), 51, "one shared, fifty of their own");
    });
    let left: Vec<_> = fs::read_dir(scratch.store().place()).unwrap().collect();
    assert_eq!(left.len(), 51, "nothing half-made stays");
}

#[test]
fn what_is_hidden_is_remembered() {
    let scratch = Scratch::new("hidden");
    let mut workspace = scratch.begin(Some("task")).unwrap();
    workspace.hide(&[".env".to_owned()]).unwrap();
    workspace.hide(&[".env".to_owned(), "**/secret".to_owned()]).unwrap();
    assert_eq!(scratch.begin(Some("task")).unwrap().about.hidden, ["**/secret", ".env"]);
}

#[test]
fn a_branch_is_a_copy_of_the_layer_and_goes_its_own_way() {
    let scratch = Scratch::new("branch");
    let mut first = scratch.begin(Some("task")).unwrap();
    first.hide(&["secret".to_owned()]).unwrap();
    let upper = first.layers().upper;
    fs::create_dir_all(upper.join("deep/er")).unwrap();
    fs::write(upper.join("deep/er/file"), "text").unwrap();
    fs::set_permissions(upper.join("deep/er/file"), fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("nowhere", upper.join("link")).unwrap();
    tree::make_node(tree::open_root(&upper).unwrap().as_fd(), OsStr::new("gone"), tree::Node::Whiteout).unwrap();
    let own = tree::open_root(&upper).unwrap();
    tree::set_attribute(own.as_fd(), OsStr::new("deep"), OsStr::new("user.overlay.opaque"), b"y").unwrap();

    let branch = |name: &str, from: &str| {
        let (name, parent) = (Some(name.parse().unwrap()), Some(from.parse().unwrap()));
        scratch.store().begin(Begin { root: &scratch.root(), name, mode: Mode::Cow, parent, capture: None })
    };
    let lock = first.lock_for_run().unwrap();
    assert!(matches!(branch("branch", "task"), Err(StoreError::InUse { .. })), "somebody may be writing");
    drop(lock);
    assert!(matches!(branch("branch", "nobody"), Err(StoreError::Unknown { .. })));
    let second = branch("branch", "task").unwrap();
    assert!(second.is_new() && second.parent() == Some(first.name()));
    assert_eq!((second.about.began, &second.about.hidden), (first.about.began, &first.about.hidden));
    let copy = second.layers().upper;
    assert_eq!(fs::read_to_string(copy.join("deep/er/file")).unwrap(), "text");
    assert_eq!(fs::metadata(copy.join("deep/er/file")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_link(copy.join("link")).unwrap(), Path::new("nowhere"));
    let own = tree::open_root(&copy).unwrap();
    assert!(crate::read::is_whiteout(&tree::stat(own.as_fd(), OsStr::new("gone")).unwrap()));
    let mark = tree::attribute(own.as_fd(), OsStr::new("deep"), OsStr::new("user.overlay.opaque")).unwrap();
    assert_eq!(mark.as_deref(), Some(&b"y"[..]));
    fs::write(copy.join("deep/er/file"), "other").unwrap();
    assert_eq!(fs::read_to_string(upper.join("deep/er/file")).unwrap(), "text");
    assert_eq!(branch("branch", "task").unwrap().place(), second.place(), "it is opened again, not made again");
}

#[test]
fn a_store_on_zfs_needs_its_tools() {
    assert!(no_layers_on(ZFS, || false).is_some_and(|why| why.contains("ZFS")));
    assert_eq!(no_layers_on(ZFS, || true), None);
    assert_eq!(no_layers_on(0xef53, || false), None);
}
