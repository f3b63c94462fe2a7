//! Removing a tree that a command has written: no link is followed, and a directory without permissions is no obstacle.

use polder_sys::tree::{Kind, change_mode, names, open_below, remove_directory, remove_file, stat};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Removes a directory of ours with everything in it.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = polder_sys::tree::open_root(parent)?;
    remove_below(parent.as_fd(), name)?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(io::ErrorKind::DirectoryNotEmpty.into()),
    }
}

/// Removes an entry, and what is in it. A tree can be deeper than the stack is long, so its directories wait in a list.
pub(crate) fn remove_below(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    if stat(directory, name)?.kind != Kind::Directory {
        return remove_file(directory, name);
    }
    let top = enter(directory, name)?;
    let mut open = vec![(top, name.to_owned())];
    while let Some((here, _)) = open.last() {
        let mut deeper = None;
        for entry in names(here.as_fd())? {
            if stat(here.as_fd(), &entry)?.kind == Kind::Directory {
                // An empty one goes at once; one that cannot be entered or is full is entered.
                if remove_directory(here.as_fd(), &entry).is_err() {
                    deeper = Some((enter(here.as_fd(), &entry)?, entry));
                    break;
                }
            } else {
                remove_file(here.as_fd(), &entry)?;
            }
        }
        if let Some(next) = deeper {
            open.push(next);
            continue;
        }
        let (_, name) = open.pop().expect("invariant: it was looked at");
        let above = open.last().map_or(directory, |(above, _)| above.as_fd());
        remove_directory(above, &name)?;
    }
    Ok(())
}

fn enter(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<std::os::fd::OwnedFd> {
    let own = stat(directory, name)?;
    if own.mode & 0o700 != 0o700 {
        change_mode(directory, name, 0o700)?;
    }
    open_below(directory, Path::new(name))
}

#[cfg(test)]
mod tests {
    use super::remove_tree;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn closed_directories_and_links_are_removed_and_nothing_else() {
        let base = std::env::temp_dir().join(format!("polder-remove-{}", std::process::id()));
        let base = {
            fs::create_dir_all(&base).unwrap();
            fs::canonicalize(base).unwrap()
        };
        fs::create_dir_all(base.join("tree/a/b")).unwrap();
        fs::create_dir_all(base.join("outside")).unwrap();
        fs::write(base.join("outside/file"), "x").unwrap();
        symlink("../../outside", base.join("tree/a/link")).unwrap();
        fs::write(base.join("tree/a/b/file"), "x").unwrap();
        fs::set_permissions(base.join("tree/a/b"), fs::Permissions::from_mode(0o0)).unwrap();
        remove_tree(&base.join("tree")).unwrap();
        assert!(!base.join("tree").exists() && base.join("outside/file").exists());
        fs::remove_dir_all(base).unwrap();
    }
}
