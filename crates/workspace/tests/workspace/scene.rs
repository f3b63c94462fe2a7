//! A tree, a store and a workspace between them, in a directory of its own.

use crate::snapshot::{Snapshot, snapshot};
use polder_workspace::{Applied, Begin, Choice, Mode, Store, Unwatched, Verdict, Workspace};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct Scene {
    pub(crate) dir: PathBuf,
}

impl Scene {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("polder-workspace.{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = PathBuf::from("/var/tmp").join(name);
        fs::create_dir_all(dir.join("tree")).unwrap();
        fs::create_dir_all(dir.join("merged")).unwrap();
        Self { dir: fs::canonicalize(dir).unwrap() }
    }

    /// A scene that another process made, and removes.
    pub(crate) fn at(dir: &Path) -> std::mem::ManuallyDrop<Self> {
        std::mem::ManuallyDrop::new(Self { dir: dir.to_owned() })
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.join("tree")
    }

    pub(crate) fn tree(&self) -> Snapshot {
        snapshot(&self.root())
    }

    /// Writes a file of the tree.
    pub(crate) fn host(&self, path: &str, text: &str) {
        write(&self.root().join(path), text);
    }

    pub(crate) fn workspace(&self) -> Workspace {
        let store = Store::open(&self.dir.join("state")).unwrap();
        let name = Some("test".parse().unwrap());
        store.begin(Begin { root: &self.root(), name, mode: Mode::Cow, parent: None, capture: None }).unwrap()
    }

    /// Writes a file of the layer, as an overlay would.
    pub(crate) fn layer(&self, path: &str, text: &str) {
        write(&self.workspace().layers().upper.join(path), text);
    }

    /// Marks a path as deleted in the layer.
    pub(crate) fn whiteout(&self, path: &str) {
        let path = self.workspace().layers().upper.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        run("mknod", &[path.to_str().unwrap(), "c", "0", "0"]);
    }

    pub(crate) fn apply(&self, choice: &Choice) -> Applied {
        self.workspace().apply(choice, &mut Unwatched).unwrap()
    }

    /// What became of a path.
    pub(crate) fn verdict(&self, applied: &Applied, path: &str) -> Verdict {
        let found = applied.items.iter().find(|(item, _)| item.change.path.as_path() == Path::new(path));
        found.unwrap_or_else(|| panic!("{path} has no change: {applied:?}")).1.clone()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        run("chmod", &["-R", "u+rwX", self.dir.to_str().unwrap()]);
        fs::remove_dir_all(&self.dir).unwrap();
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
