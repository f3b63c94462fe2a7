//! Setting files aside on the host, by descriptor: no symbolic link in the tree leads us elsewhere.

use super::call::{Errno, check_int};
use super::mount::open_beneath;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Renames `relative` in `tree` by adding a suffix, if it and all its companions exist. Says whether it did.
pub fn set_aside(tree: &Path, relative: &Path, only_with: &[String], suffix: &str) -> io::Result<bool> {
    let (Some(name), Some(parent)) = (relative.file_name(), relative.parent()) else { return Ok(false) };
    // Mostly there is nothing, and one look says so.
    if let Err(error) = std::fs::symlink_metadata(tree.join(relative))
        && matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR))
    {
        return Ok(false);
    }
    let tree = std::fs::File::open(tree)?;
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let directory = match open_beneath(tree.as_fd(), &text(parent.as_os_str())?) {
        Ok(directory) => directory,
        // A parent that is gone, or is no directory any more, holds nothing.
        Err(Errno(libc::ENOENT | libc::ENOTDIR | libc::ELOOP)) => return Ok(false),
        Err(other) => return Err(other.into()),
    };
    for other in only_with {
        let other = text(OsStr::new(other))?;
        // SAFETY: the name outlives the call.
        if unsafe { libc::faccessat(directory.as_raw_fd(), other.as_ptr(), libc::F_OK, 0) } != 0 {
            return Ok(false);
        }
    }
    let mut aside = name.to_owned();
    aside.push(suffix);
    let (name, aside) = (text(name)?, text(&aside)?);
    let directory = directory.as_raw_fd();
    // SAFETY: both names outlive the call.
    match check_int(unsafe { libc::renameat(directory, name.as_ptr(), directory, aside.as_ptr()) }) {
        Ok(_) => Ok(true),
        Err(Errno(libc::ENOENT)) => Ok(false),
        Err(other) => Err(other.into()),
    }
}

fn text(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::set_aside;
    use std::fs;
    use std::path::Path;

    #[test]
    fn a_file_is_renamed_only_with_its_companions_and_never_through_a_link() {
        let dir = std::env::temp_dir().join(format!("polder-aside-{}", std::process::id()));
        fs::create_dir_all(dir.join("tree/objects")).unwrap();
        fs::create_dir_all(dir.join("outside")).unwrap();
        fs::write(dir.join("tree/HEAD"), "x").unwrap();
        fs::write(dir.join("outside/HEAD"), "x").unwrap();
        std::os::unix::fs::symlink("../outside", dir.join("tree/link")).unwrap();
        let (tree, needed) = (dir.join("tree"), ["objects".to_owned(), "refs".to_owned()]);
        assert!(!set_aside(&tree, Path::new("HEAD"), &needed, ".x").unwrap(), "refs is missing");
        fs::create_dir(tree.join("refs")).unwrap();
        assert!(set_aside(&tree, Path::new("HEAD"), &needed, ".x").unwrap());
        assert!(tree.join("HEAD.x").exists() && !tree.join("HEAD").exists());
        assert!(!set_aside(&tree, Path::new("link/HEAD"), &[], ".x").unwrap());
        assert!(dir.join("outside/HEAD").exists(), "the link was not followed");
        fs::remove_dir_all(&dir).unwrap();
    }
}
