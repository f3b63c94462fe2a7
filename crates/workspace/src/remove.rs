//! Removing a tree that a command has written: no link is followed, and a directory without permissions is no obstacle.

use polder_sys::tree::{Kind, Replace, change_mode, names, open_below, remove_directory, remove_file, rename, stat};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Removes a directory of ours with everything in it.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = polder_sys::tree::open_root(parent)?;
    remove_below(parent.as_fd(), name)
}

/// What the kernel leaves in the scratch of a layer, one within the other: directories that are closed to everybody, and a
/// mark in the last one. Every run leaves them, so they go in a few calls. Whatever else is there is left alone.
pub(crate) fn remove_marks(scratch: BorrowedFd<'_>) {
    const WITHIN: [&str; 3] = ["work", "incompat", "volatile"];
    const MARK: &str = "dirty";
    let mut open: Vec<OwnedFd> = Vec::new();
    for name in WITHIN {
        let here = open.last().map_or(scratch, |last| last.as_fd());
        let enter = || open_below(here, Path::new(name));
        let entered = enter().or_else(|_| change_mode(here, OsStr::new(name), 0o700).and_then(|()| enter()));
        match entered {
            Ok(entered) => open.push(entered),
            Err(_) => break,
        }
    }
    if let Some(last) = open.last().filter(|_| open.len() == WITHIN.len()) {
        let _ = remove_file(last.as_fd(), OsStr::new(MARK));
    }
    for depth in (0..open.len()).rev() {
        let here = if depth == 0 { scratch } else { open[depth - 1].as_fd() };
        let _ = remove_directory(here, OsStr::new(WITHIN[depth]));
    }
}

/// Removes an entry, and what is in it. A tree can be deeper than the stack is long or descriptors are many, so what is in
/// its directories is moved up to the top and waits there: two directories are open at a time, and each is read once.
pub(crate) fn remove_below(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    if stat(directory, name)?.kind != Kind::Directory {
        return remove_file(directory, name);
    }
    let top = enter(directory, name)?;
    let mut waiting = names(top.as_fd())?;
    let mut moved = 0_u64;
    while let Some(entry) = waiting.pop() {
        if is_removed(top.as_fd(), &entry)? {
            continue;
        }
        let here = enter(top.as_fd(), &entry)?;
        for below in names(here.as_fd())? {
            if !is_removed(here.as_fd(), &below)? {
                waiting.push(move_up(here.as_fd(), &below, top.as_fd(), &mut moved)?);
            }
        }
        remove_directory(top.as_fd(), &entry)?;
    }
    remove_directory(directory, name)
}

/// Removes a file or an empty directory. Says `false` for a directory that is full.
fn is_removed(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<bool> {
    match remove_file(directory, name) {
        Ok(()) => Ok(true),
        // Somebody else removes the same.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(remove_directory(directory, name).is_ok()),
        Err(error) => Err(error),
    }
}

/// Moves a directory to the top, under a name that nothing there has. Returns the name.
fn move_up(from: BorrowedFd<'_>, name: &OsStr, top: BorrowedFd<'_>, moved: &mut u64) -> io::Result<OsString> {
    // Moving a directory writes to it.
    open_up(from, name)?;
    loop {
        *moved += 1;
        let new = OsString::from(format!(".up-{moved}"));
        match rename(from, name, top, &new, Replace::Nothing) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(new),
        }
    }
}

fn open_up(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    if stat(directory, name)?.mode & 0o700 != 0o700 {
        change_mode(directory, name, 0o700)?;
    }
    Ok(())
}

fn enter(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    open_up(directory, name)?;
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

    const DEEP: &str = "POLDER_TEST_DEEP";

    /// The part that runs with few descriptors.
    #[test]
    #[ignore = "a part of the test below, which starts it"]
    fn child() {
        if let Some(path) = std::env::var_os(DEEP) {
            remove_tree(path.as_ref()).unwrap();
        }
    }

    #[test]
    fn a_tree_deeper_than_there_are_descriptors_is_removed() {
        use polder_sys::tree::{make_directory, open_below, open_root};
        use std::os::fd::AsFd;
        let base = std::env::temp_dir().join(format!("polder-deep-{}", std::process::id()));
        fs::create_dir_all(base.join("tree")).unwrap();
        let base = fs::canonicalize(base).unwrap();
        let mut here = open_root(&base.join("tree")).unwrap();
        for _ in 0..1000 {
            // Two at every level, one of them by a name that a mover would choose.
            for name in ["deeper", ".up-1"] {
                make_directory(here.as_fd(), name.as_ref(), 0o700).unwrap();
            }
            make_directory(open_below(here.as_fd(), ".up-1".as_ref()).unwrap().as_fd(), "x".as_ref(), 0o700).unwrap();
            here = open_below(here.as_fd(), "deeper".as_ref()).unwrap();
        }
        let script = r#"ulimit -n 64 && exec "$0" --exact remove::tests::child --ignored --quiet"#;
        let output = std::process::Command::new("sh")
            .args(["-c", script])
            .arg(std::env::current_exe().unwrap())
            .env(DEEP, base.join("tree"))
            .output()
            .unwrap();
        let left = base.join("tree").exists();
        fs::remove_dir_all(base).unwrap();
        assert!(output.status.success() && !left, "{output:?}");
    }
}
