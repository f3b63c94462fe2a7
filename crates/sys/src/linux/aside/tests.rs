use super::{TreeState, set_aside};
use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A directory of its own for one test.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("polder-aside-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn aside(&self, relative: &str) -> Option<String> {
        let aside = set_aside(&self.0, Path::new(relative), &[], ".x", TreeState::AtRest).unwrap();
        aside.map(|name| name.into_string().unwrap())
    }

    fn has(&self, relative: &str) -> bool {
        self.0.join(relative).symlink_metadata().is_ok()
    }

    /// A path below; `.` is the tree itself, which may not be searched.
    fn at(&self, relative: &str) -> PathBuf {
        if relative == "." { self.0.clone() } else { self.0.join(relative) }
    }

    fn mode(&self, relative: &str) -> u32 {
        fs::metadata(self.at(relative)).unwrap().permissions().mode() & 0o7777
    }

    fn chmod(&self, relative: &str, mode: u32) {
        fs::set_permissions(self.at(relative), fs::Permissions::from_mode(mode)).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::process::Command::new("chmod").args(["-R", "u+rwx"]).arg(&self.0).output();
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn aside_with_companions_needs_all_of_them() {
    let tree = Tree::new("companions");
    fs::create_dir(tree.0.join("objects")).unwrap();
    fs::write(tree.0.join("HEAD"), "x").unwrap();
    let needed = ["objects".to_owned(), "refs".to_owned()];
    let aside = || set_aside(&tree.0, Path::new("HEAD"), &needed, ".x", TreeState::AtRest).unwrap();
    assert_eq!(aside(), None, "refs is missing");
    fs::create_dir(tree.0.join("refs")).unwrap();
    assert_eq!(aside().as_deref(), Some(OsStr::new("HEAD.x")));
    assert!(tree.has("HEAD.x") && !tree.has("HEAD"));
}

#[test]
fn aside_of_a_link_that_leads_out_fails() {
    let tree = Tree::new("links");
    for name in ["in", "in/below", "out"] {
        fs::create_dir(tree.0.join(name)).unwrap();
    }
    fs::write(tree.0.join("out/f"), "x").unwrap();
    fs::write(tree.0.join("in/below/f"), "x").unwrap();
    symlink("../out", tree.0.join("in/away")).unwrap();
    symlink("below", tree.0.join("in/link")).unwrap();
    symlink("loop", tree.0.join("in/loop")).unwrap();
    let inner = tree.0.join("in");
    let error = set_aside(&inner, Path::new("away/f"), &[], ".x", TreeState::AtRest).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EXDEV));
    assert!(tree.has("out/f"), "the link was not followed");
    assert_eq!(set_aside(&inner, Path::new("away/none"), &[], ".x", TreeState::AtRest).unwrap(), None);
    assert_eq!(set_aside(&inner, Path::new("loop/f"), &[], ".x", TreeState::AtRest).unwrap(), None);
    // A program that obeys the name follows a link within the tree, and so does the sweep.
    // A command that still runs could have put the link there to have another file renamed.
    assert_eq!(set_aside(&inner, Path::new("link/f"), &[], ".x", TreeState::Changing).unwrap(), None);
    let aside = set_aside(&inner, Path::new("link/f"), &[], ".x", TreeState::AtRest).unwrap();
    assert_eq!(aside.as_deref(), Some(OsStr::new("f.x")));
    assert!(tree.has("in/below/f.x") && !tree.has("in/below/f"));
}

#[test]
fn aside_where_the_name_is_taken_takes_another() {
    let tree = Tree::new("taken");
    fs::create_dir_all(tree.0.join("f.x/full")).unwrap();
    symlink("nowhere", tree.0.join("f.x-2")).unwrap();
    fs::write(tree.0.join("f.x-3"), "kept").unwrap();
    fs::write(tree.0.join("f"), "1").unwrap();
    assert_eq!(tree.aside("f").as_deref(), Some("f.x-4"));
    for count in 5..5_000 {
        fs::write(tree.0.join(format!("f.x-{count:x}")), "").unwrap();
    }
    fs::write(tree.0.join("f"), "2").unwrap();
    let name = tree.aside("f").unwrap();
    assert!(name.starts_with("f.x-") && !tree.has("f"), "{name}");
    assert_eq!(fs::read_to_string(tree.0.join(name)).unwrap(), "2");
    assert_eq!(fs::read_to_string(tree.0.join("f.x-3")).unwrap(), "kept");
}

#[test]
fn aside_in_closed_directories_gives_modes_back() {
    for mode in [0o555, 0o1555, 0o000, 0o444, 0o2111] {
        let tree = Tree::new(&format!("closed-{mode:o}"));
        fs::create_dir_all(tree.0.join("a/b")).unwrap();
        fs::write(tree.0.join("a/b/f"), "x").unwrap();
        tree.chmod("a/b", mode);
        tree.chmod("a", mode);
        tree.chmod(".", mode);
        assert_eq!(tree.aside("a/b/f").as_deref(), Some("f.x"), "{mode:o}");
        for name in [".", "a", "a/b"] {
            assert_eq!(tree.mode(name), mode, "{name}");
            tree.chmod(name, 0o700);
        }
        assert!(tree.has("a/b/f.x") && !tree.has("a/b/f"));
    }
}

#[test]
fn aside_takes_every_kind_of_file() {
    let tree = Tree::new("kinds");
    fs::create_dir_all(tree.0.join("directory/full/of")).unwrap();
    tree.chmod("directory", 0o000);
    symlink("/etc/passwd", tree.0.join("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.0.join("socket")).unwrap();
    let fifo = CString::new(tree.0.join("fifo").as_os_str().as_bytes()).unwrap();
    // SAFETY: the path outlives the call.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    let long = "l".repeat(255);
    fs::write(tree.0.join(&long), "x").unwrap();
    for name in ["directory", "link", "socket", "fifo", &long] {
        let aside = tree.aside(name).unwrap();
        assert!(!tree.has(name) && tree.has(&aside), "{name}");
    }
    tree.chmod("directory.x", 0o700);
}

#[test]
fn aside_of_nothing_says_so() {
    let tree = Tree::new("nothing");
    fs::write(tree.0.join("file"), "x").unwrap();
    assert_eq!(tree.aside("missing"), None);
    assert_eq!(tree.aside("missing/below"), None);
    assert_eq!(tree.aside("file/below"), None);
    assert_eq!(set_aside(&tree.0.join("gone"), Path::new("f"), &[], ".x", TreeState::AtRest).unwrap(), None);
}
