//! What commands do to trees, at random. An operation that makes no sense where it is tried does nothing.

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Operation {
    Write(String, String),
    Append(String, String),
    Remove(String),
    Make(String),
    Rename(String, String),
    Symlink(String, String),
    Link(String, String),
    Bits(String, u32),
    Touch(String),
    Pipe(String),
}

fn path(names: &'static [&'static str], depth: usize) -> impl Strategy<Value = String> + Clone {
    prop::collection::vec(prop::sample::select(names), 1..=depth).prop_map(|parts| parts.join("/"))
}

fn content() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "one\n", "one\ntwo\n", "other", "nul \0 byte", "one\ntwo\nthree\nfour\nfive\nsix\n"])
        .prop_map(str::to_owned)
}

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    operation_on(path(&["a", "b", "c", "ü ü", "-x"], 3))
}

/// The same on so few paths that two of them often meet.
pub(crate) fn crowded_operation() -> impl Strategy<Value = Operation> {
    operation_on(path(&["a", "b"], 2))
}

fn operation_on(path: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = Operation> {
    let path = || path.clone();
    prop_oneof![
        5 => (path(), content()).prop_map(|(path, text)| Operation::Write(path, text)),
        2 => (path(), content()).prop_map(|(path, text)| Operation::Append(path, text)),
        3 => path().prop_map(Operation::Remove),
        3 => path().prop_map(Operation::Make),
        3 => (path(), path()).prop_map(|(from, to)| Operation::Rename(from, to)),
        2 => (path(), path()).prop_map(|(path, target)| Operation::Symlink(path, target)),
        1 => (path(), path()).prop_map(|(from, to)| Operation::Link(from, to)),
        2 => (path(), prop::sample::select(vec![0o644_u32, 0o600, 0o755, 0o700, 0o750]))
            .prop_map(|(path, bits)| Operation::Bits(path, bits)),
        1 => path().prop_map(Operation::Touch),
    ]
}

/// Does it, if it can be done.
pub(crate) fn perform(root: &Path, operation: &Operation) {
    let at = |path: &str| root.join(path);
    let is_link = |path: &str| fs::symlink_metadata(at(path)).is_ok_and(|metadata| metadata.is_symlink());
    // Nothing is done through a link: it could lead to a path that another operation is about.
    let through = |path: &str| Path::new(path).ancestors().skip(1).any(|part| is_link(part.to_str().unwrap()));
    let _ = match operation {
        Operation::Write(path, _) | Operation::Append(path, _) | Operation::Touch(path) | Operation::Bits(path, _)
            if is_link(path) || through(path) =>
        {
            Ok(())
        }
        Operation::Write(path, text) => {
            let _ = at(path).parent().map(fs::create_dir_all);
            fs::write(at(path), text)
        }
        Operation::Append(path, text) => fs::OpenOptions::new()
            .append(true)
            .open(at(path))
            .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes())),
        Operation::Remove(path) if at(path).is_dir() && !is_link(path) => fs::remove_dir_all(at(path)),
        Operation::Remove(path) => fs::remove_file(at(path)),
        Operation::Make(path) => fs::create_dir_all(at(path)),
        Operation::Rename(from, to) => fs::rename(at(from), at(to)),
        Operation::Symlink(path, target) => symlink(target, at(path)),
        Operation::Link(from, to) => fs::hard_link(at(from), at(to)),
        Operation::Bits(path, bits) => {
            let bits = if at(path).is_dir() { bits | 0o700 } else { *bits };
            fs::set_permissions(at(path), fs::Permissions::from_mode(bits))
        }
        Operation::Touch(path) => fs::OpenOptions::new()
            .append(true)
            .open(at(path))
            .and_then(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH)),
        Operation::Pipe(path) => std::process::Command::new("mkfifo").arg(at(path)).status().map(|_| ()),
    };
}
