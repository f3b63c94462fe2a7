//! A tree as plain text: every path with its kind, its bits and its content.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

pub(crate) type Snapshot = BTreeMap<String, Entry>;

/// Kind, permission bits, and content or target.
pub(crate) type Entry = (String, u32, String);

pub(crate) fn snapshot(root: &Path) -> Snapshot {
    let mut found = Snapshot::new();
    walk(root, root, &mut found);
    found
}

fn walk(root: &Path, directory: &Path, found: &mut Snapshot) {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let kind = metadata.file_type();
        let mode = metadata.mode() & 0o7777;
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let described = if kind.is_dir() {
            ("directory".to_owned(), mode, String::new())
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            ("symlink".to_owned(), 0, target.display().to_string())
        } else if kind.is_fifo() {
            ("named pipe".to_owned(), mode, String::new())
        } else {
            let content = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let text = String::from_utf8(content).unwrap_or_else(|bytes| format!("{:?}", bytes.as_bytes()));
            ("file".to_owned(), mode, text)
        };
        found.insert(name, described);
        if kind.is_dir() {
            walk(root, &path, found);
        }
    }
    assert!(root.as_os_str().as_bytes().starts_with(b"/"));
}

/// What the difference of two trees is called, path by path.
pub(crate) fn difference(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, &'static str> {
    let mut found = BTreeMap::new();
    for path in before.keys().chain(after.keys()) {
        let what = match (before.get(path), after.get(path)) {
            (None, _) => "added",
            (_, None) => "deleted",
            (Some(old), Some(new)) if old.0 != new.0 => "type",
            (Some(old), Some(new)) if old.2 != new.2 && old.0 == "symlink" => "target",
            (Some(old), Some(new)) if old.2 != new.2 => "modified",
            (Some(old), Some(new)) if old.1 != new.1 => "mode",
            (Some(_), Some(_)) => continue,
        };
        found.insert(path.clone(), what);
    }
    found
}
