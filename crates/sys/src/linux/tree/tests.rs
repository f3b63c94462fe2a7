use super::*;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("polder-tree-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(fs::canonicalize(path).unwrap())
    }

    fn open(&self) -> OwnedFd {
        open_root(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn no_directory_is_opened_through_a_link_or_outside() {
    let scratch = Scratch::new("below");
    fs::create_dir_all(scratch.0.join("tree/a/b")).unwrap();
    std::os::unix::fs::symlink("a", scratch.0.join("tree/link")).unwrap();
    let tree = open_root(&scratch.0.join("tree")).unwrap();
    assert!(open_below(tree.as_fd(), Path::new("a/b")).is_ok(), "the control");
    for wrong in ["link", "link/b", "../tree/a", "..", "/proc", "a/../../tree"] {
        assert!(open_below(tree.as_fd(), Path::new(wrong)).is_err(), "{wrong}");
    }
    assert!(open_root(&scratch.0.join("tree/link")).is_err());
    assert!(open_below(open_root(Path::new("/")).unwrap().as_fd(), Path::new("proc/self")).is_err(), "another device");
}

#[test]
fn an_entry_is_itself_and_not_what_it_links_to() {
    let scratch = Scratch::new("entry");
    let dir = scratch.open();
    let dir = dir.as_fd();
    create_file(dir, "file".as_ref(), 0o640).unwrap().write_all(b"text").unwrap();
    make_symlink(dir, "link".as_ref(), "file".as_ref()).unwrap();
    assert_eq!(stat(dir, "link".as_ref()).unwrap().kind, Kind::Symlink);
    assert_eq!(read_symlink(dir, "link".as_ref()).unwrap(), "file");
    assert!(open_file(dir, "link".as_ref()).is_err());
    assert!(change_mode(dir, "link".as_ref(), 0o777).is_err());
    change_mode(dir, "file".as_ref(), 0o600).unwrap();
    assert_eq!(stat(dir, "file".as_ref()).unwrap().mode, 0o600);
    set_modified(dir, "file".as_ref(), Moment { seconds: 5, nanoseconds: 6 }).unwrap();
    assert_eq!(stat(dir, "file".as_ref()).unwrap().modified, Moment { seconds: 5, nanoseconds: 6 });
    assert!(create_file(dir, "file".as_ref(), 0o600).is_err(), "it exists");
    assert!(rename(dir, "file".as_ref(), dir, "link".as_ref(), Replace::Nothing).is_err());
    link(dir, "file".as_ref(), dir, "second".as_ref()).unwrap();
    assert_eq!(stat(dir, "file".as_ref()).unwrap().links, 2);
    rename(dir, "file".as_ref(), dir, "link".as_ref(), Replace::Existing).unwrap();
    assert_eq!(names(dir).unwrap(), ["link", "second"]);
    remove_file(dir, "link".as_ref()).unwrap();
    make_directory(dir, "dir".as_ref(), 0o700).unwrap();
    assert!(remove_file(dir, "dir".as_ref()).is_err());
    remove_directory(dir, "dir".as_ref()).unwrap();
    assert_eq!(names(dir).unwrap(), ["second"]);
}

#[test]
fn a_hole_stays_a_hole() {
    let scratch = Scratch::new("hole");
    let dir = scratch.open();
    let mut from = create_file(dir.as_fd(), "from".as_ref(), 0o600).unwrap();
    from.write_all(b"begin").unwrap();
    from.seek(SeekFrom::Start(1 << 40)).unwrap();
    from.write_all(b"end").unwrap();
    let to = create_file(dir.as_fd(), "to".as_ref(), 0o600).unwrap();
    copy_data(&from, &to, (1 << 40) + 3).unwrap();
    let copied = stat(dir.as_fd(), "to".as_ref()).unwrap();
    assert_eq!(copied.size, (1 << 40) + 3);
    assert!(copied.allocated < 1 << 20, "{copied:?}");
    assert!(data_after(&to, 1 << 30).unwrap().unwrap().end == (1 << 40) + 3);
    sync_file_system(dir.as_fd()).unwrap();
    assert!(free_bytes(dir.as_fd()).unwrap() > 0);
}

#[test]
fn a_lock_is_held_once() {
    let scratch = Scratch::new("lock");
    let dir = scratch.open();
    let first = create_file(dir.as_fd(), "lock".as_ref(), 0o600).unwrap();
    let second = open_file(dir.as_fd(), "lock".as_ref()).unwrap();
    assert!(try_lock(first.as_fd()).unwrap());
    assert!(!try_lock(second.as_fd()).unwrap());
    drop(first);
    assert!(try_lock(second.as_fd()).unwrap());
}

#[test]
fn attributes_are_listed_read_and_set() {
    let scratch = Scratch::new("xattr");
    let dir = scratch.open();
    create_file(dir.as_fd(), "file".as_ref(), 0o600).unwrap();
    set_attribute(dir.as_fd(), "file".as_ref(), "user.polder".as_ref(), b"value").unwrap();
    assert!(attributes(dir.as_fd(), "file".as_ref()).unwrap().contains(&"user.polder".into()));
    assert_eq!(attribute(dir.as_fd(), "file".as_ref(), "user.polder".as_ref()).unwrap().unwrap(), b"value");
    assert_eq!(attribute(dir.as_fd(), "file".as_ref(), "user.other".as_ref()).unwrap(), None);
}

#[test]
fn only_links_and_directories_lead_elsewhere() {
    let scratch = Scratch::new("ways");
    fs::create_dir(scratch.0.join("directory")).unwrap();
    fs::write(scratch.0.join("file"), "").unwrap();
    std::os::unix::fs::symlink("file", scratch.0.join("link")).unwrap();
    let dir = scratch.open();
    assert_eq!(names(dir.as_fd()).unwrap(), ["directory", "file", "link"]);
    assert_eq!(ways(dir.as_fd()).unwrap(), ["directory", "link"]);
}
