//! Removing a tree that a command wrote: any depth, any rights, any names.

use polder_sys::directory::Directory;
use std::ffi::{OsStr, OsString};
use std::io;

/// Names that are read at a time.
const BATCH: usize = 1024;

/// Removes whatever has this name. A tree is taken apart level by level, every directory in it brought up to the first
/// one, so that no depth runs us out of descriptors.
pub(crate) fn discard(parent: &Directory, name: &OsStr) -> io::Result<()> {
    let found = match parent.look(name) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.metadata()?.is_dir() {
        return parent.remove(name);
    }
    Directory::open_up(&found)?;
    let top = parent.enter(name)?;
    let mut count = 0u64;
    loop {
        let names = top.names(BATCH)?;
        if names.is_empty() {
            return parent.remove_empty(name);
        }
        for name in names {
            flatten(&top, &name, &mut count)?;
        }
    }
}

/// Removes a file; of a directory, removes the files, brings the directories up and removes it.
fn flatten(top: &Directory, name: &OsStr, count: &mut u64) -> io::Result<()> {
    let found = top.look(name)?;
    if !found.metadata()?.is_dir() {
        return top.remove(name);
    }
    // A directory without rights can be neither read nor moved.
    Directory::open_up(&found)?;
    let directory = top.enter(name)?;
    loop {
        let names = directory.names(BATCH)?;
        if names.is_empty() {
            return top.remove_empty(name);
        }
        for inner in names {
            let found = directory.look(&inner)?;
            if !found.metadata()?.is_dir() {
                directory.remove(&inner)?;
                continue;
            }
            Directory::open_up(&found)?;
            bring_up(&directory, &inner, top, count)?;
        }
    }
}

fn bring_up(from: &Directory, name: &OsStr, top: &Directory, count: &mut u64) -> io::Result<()> {
    loop {
        *count += 1;
        match from.rename(name, top, &OsString::from(format!("up-{count}"))) {
            // The tree itself may have such a name.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other,
        }
    }
}
