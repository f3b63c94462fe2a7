//! A directory of the run's own on the host: the door, and what a daemon is told to show, under names that hold nothing
//! but letters and digits, whatever the host's paths are.
//!
//! Its name says whose it is, so that what a killed polder left behind is found and removed by the next one.

use polder_sys::cgroup::start_time;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the directories are made.
const BASE: &str = "/tmp";
/// Their names begin with this, then the owner's uid, pid and start, and a number.
const PREFIX: &str = "polder-container-";
/// Closed to everybody, also to who removes it.
const HIDDEN_DIRECTORY: &str = "hidden-directory";

/// The directory. It goes away with the value.
#[derive(Debug)]
pub(super) struct Place {
    root: PathBuf,
}

impl Place {
    /// Makes one that nobody else can enter.
    pub(super) fn make(uid: u32) -> io::Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        let start = start_time(pid).unwrap_or(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let root = Path::new(BASE).join(format!("{PREFIX}{uid}-{pid}-{start}-{number}"));
        DirBuilder::new().mode(0o700).create(&root)?;
        let place = Self { root };
        for path in [place.door(), place.empty(), place.root.join("shown")] {
            DirBuilder::new().create(&path)?;
            // The user inside is perhaps another one; nobody else gets past the directory above.
            fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        }
        fs::write(place.file(), "")?;
        fs::set_permissions(place.file(), Permissions::from_mode(0o644))?;
        Ok(place)
    }

    /// The directory of the door.
    pub(super) fn door(&self) -> PathBuf {
        self.root.join("door")
    }

    /// An empty directory, to make mount points with.
    pub(super) fn empty(&self) -> PathBuf {
        self.root.join("empty")
    }

    /// An empty file, likewise.
    pub(super) fn file(&self) -> PathBuf {
        self.root.join("file")
    }

    /// A directory that nobody can look into and a file that nobody can read, to cover others with.
    pub(super) fn hidden(&self) -> io::Result<(PathBuf, PathBuf)> {
        let (directory, file) = (self.root.join(HIDDEN_DIRECTORY), self.root.join("hidden-file"));
        if !directory.exists() {
            DirBuilder::new().mode(0o000).create(&directory)?;
            fs::write(&file, "")?;
            fs::set_permissions(&file, Permissions::from_mode(0o000))?;
        }
        Ok((directory, file))
    }

    /// Writes a file that everybody inside can read, and says where.
    pub(super) fn write(&self, number: usize, content: &str) -> io::Result<PathBuf> {
        let path = self.root.join(format!("written-{number}"));
        fs::write(&path, content)?;
        fs::set_permissions(&path, Permissions::from_mode(0o644))?;
        Ok(path)
    }

    /// Writes a table of these names, all on the loopback, and says where.
    pub(super) fn hosts(&self, names: &[&str]) -> io::Result<PathBuf> {
        let path = self.root.join("hosts");
        let names: String = names.iter().map(|name| format!("127.0.0.1\t{name}\n")).collect();
        fs::write(&path, format!("127.0.0.1\tlocalhost\n::1\tlocalhost\n{names}"))?;
        fs::set_permissions(&path, Permissions::from_mode(0o644))?;
        Ok(path)
    }

    /// A short name for a path of the host.
    pub(super) fn name(&self, path: &Path, number: usize) -> io::Result<PathBuf> {
        let link = self.link(number);
        symlink(path, &link)?;
        Ok(link)
    }

    /// The short name of a path.
    pub(super) fn link(&self, number: usize) -> PathBuf {
        self.root.join("shown").join(number.to_string())
    }

    /// A copy of our own program that everybody inside can execute.
    pub(super) fn program(&self) -> PathBuf {
        self.root.join("program")
    }
}

impl Place {
    /// Removes everything; what is gone already is no error.
    pub(super) fn remove(&self) -> io::Result<()> {
        match remove_tree(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            answer => answer,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Whoever wants to know whether it worked has removed it before; the next start tries again.
        let _ = self.remove();
    }
}

fn remove_tree(root: &Path) -> io::Result<()> {
    let hidden = root.join(HIDDEN_DIRECTORY);
    if hidden.symlink_metadata().is_ok() {
        // Its owner can open it again; where that fails, the removal says why.
        let _ = fs::set_permissions(&hidden, Permissions::from_mode(0o700));
    }
    fs::remove_dir_all(root)
}

/// Removes what killed owners left behind.
pub(super) fn sweep(uid: u32) -> io::Result<()> {
    let mut answer = Ok(());
    for entry in fs::read_dir(BASE).into_iter().flatten().flatten() {
        let own = entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == uid);
        if own && is_orphan(&entry.file_name(), uid) {
            match remove_tree(&entry.path()) {
                // Another start was quicker.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => answer = Err(error),
                Ok(()) => {}
            }
        }
    }
    answer
}

fn is_orphan(name: &OsStr, uid: u32) -> bool {
    let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { return false };
    let numbers: Vec<u64> = rest.split('-').map_while(|part| part.parse().ok()).collect();
    let [owner, pid, start, _] = numbers[..] else { return false };
    let Ok(pid) = u32::try_from(pid) else { return false };
    owner == u64::from(uid) && start_time(pid) != Some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_of_a_dead_owner_is_an_orphan() {
        let (pid, start) = (std::process::id(), start_time(std::process::id()).expect("a start"));
        let orphan = |name: String| is_orphan(OsStr::new(&name), 7);
        assert!(!orphan(format!("{PREFIX}7-{pid}-{start}-0")), "it lives");
        assert!(orphan(format!("{PREFIX}7-{pid}-1-0")), "another process once had this pid");
        assert!(orphan(format!("{PREFIX}7-4194999-1-0")), "no process has this pid");
        assert!(!orphan(format!("{PREFIX}8-4194999-1-0")), "another user's");
        assert!(!orphan(format!("{PREFIX}7-x")) && !orphan("systemd-private".to_owned()));
    }
}
