//! One build of the same image at a time, among all processes and threads of a user.

use super::super::api::{Deadline, ImageName};
use super::tag::hex;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a lock is tried that somebody else has.
const GLANCE: Duration = Duration::from_millis(50);

/// Held while an image is built. The file goes away with it.
#[derive(Debug)]
pub(super) struct BuildLock {
    directory: PathBuf,
    path: PathBuf,
    _file: File,
}

impl BuildLock {
    /// Waits for its turn, at most until the deadline, and as long as the caller does.
    pub(super) fn take(
        name: &ImageName,
        uid: u32,
        deadline: Deadline,
        waiting: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> io::Result<Self> {
        let directory = directory(uid);
        let path = directory.join(hex(&Sha256::digest(name.to_string().as_bytes())[..16]));
        loop {
            let left = deadline.left()?;
            private(&directory, uid)?;
            let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
            let file = match opened {
                // Whoever had it last has just removed the directory.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                answer => answer?,
            };
            match file.try_lock() {
                // The one who had it removed the name: a lock on a file without a name keeps nobody out.
                Ok(()) if is_at(&file, &path) => return Ok(Self { directory, path, _file: file }),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    if waiting().is_break() {
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                    std::thread::sleep(GLANCE.min(left));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

/// Removes what killed builders left behind: a lock that can be taken is nobody's.
pub(in crate::container) fn sweep(uid: u32) -> io::Result<()> {
    let directory = directory(uid);
    match fs::symlink_metadata(&directory) {
        Ok(found) if found.is_dir() && found.uid() == uid => {}
        // There is none, or it is not ours: a build says so.
        _ => return Ok(()),
    }
    let mut answer = Ok(());
    for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
        match free(&entry.path()) {
            // Its owner, or another start, was quicker.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            freed => answer = freed.and(answer),
        }
    }
    // Fails while somebody builds.
    let _ = fs::remove_dir(&directory);
    answer
}

/// Removes a lock that nobody has, while it is held, so that nobody can have taken it under this name.
fn free(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    match file.try_lock() {
        Ok(()) if is_at(&file, path) => fs::remove_file(path),
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn directory(uid: u32) -> PathBuf {
    Path::new("/tmp").join(format!("polder-build-{uid}"))
}

/// A directory of the caller's own, in a place where everybody can make names.
fn private(directory: &Path, uid: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    match fs::symlink_metadata(directory) {
        Ok(found) if found.is_dir() && found.uid() == uid && found.mode() & 0o077 == 0 => Ok(()),
        Ok(_) => Err(io::Error::other(format!("`{}` is not a private directory of this user", directory.display()))),
        // Removed a moment ago; the next look finds out.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let named = fs::symlink_metadata(path).map(identity).ok();
    named.is_some() && named == file.metadata().map(identity).ok()
}

impl Drop for BuildLock {
    fn drop(&mut self) {
        // While it is still held, so that nobody can have taken it under this name.
        let _ = fs::remove_file(&self.path);
        // Fails while others build something else.
        let _ = fs::remove_dir(&self.directory);
    }
}
