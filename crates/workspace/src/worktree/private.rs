//! The repository of a private copy: the user's HEAD, refs and index, and nothing that says how git has to work.

use super::error::WorktreeError;
use super::refs::Refs;
use super::repository::{Repository, read_bytes};
use crate::read::open_host_file;
use polder_sys::tree;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

const INDEX_BYTES_MAX: u64 = 1 << 30;
const EXCLUDE_BYTES_MAX: u64 = 1 << 20;
const SHALLOW_BYTES_MAX: u64 = 16 << 20;

/// Whose the copy is: root's commands run as the owner of the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner(pub(crate) Option<(u32, u32)>);

impl Owner {
    pub(crate) fn give(self, path: &Path) -> io::Result<()> {
        self.0.map_or(Ok(()), |(uid, gid)| chown(path, Some(uid), Some(gid)))
    }
}

/// A private repository that is being made.
pub(crate) struct Private<'a> {
    /// Where it is.
    pub(crate) at: &'a Path,
    pub(crate) owner: Owner,
}

impl Private<'_> {
    /// Writes all of it. `work_tree` is where its tree lies, seen from it, where git would not find it.
    pub(crate) fn make(&self, repository: &Repository, work_tree: Option<&Path>) -> Result<(), WorktreeError> {
        let refs = Refs::read(repository)?;
        let exclude = read_info_exclude(&repository.common_dir)?;
        let shallow = read_bytes(&repository.common_dir, "shallow", SHALLOW_BYTES_MAX)?;
        let made = || -> io::Result<()> {
            for name in
                ["", "hooks", "info", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags"]
            {
                self.directory(name)?;
            }
            self.file("HEAD", format!("{}\n", refs.head).as_bytes())?;
            self.file("config", config(refs.digits, work_tree).as_bytes())?;
            self.file("packed-refs", refs.packed().as_bytes())?;
            for (name, other) in &refs.symbolic {
                self.directory(Path::new(name).parent().unwrap_or(Path::new("refs")))?;
                self.file(name, format!("ref: {other}\n").as_bytes())?;
            }
            if let Some(exclude) = &exclude {
                self.file("info/exclude", exclude)?;
            }
            if let Some(shallow) = &shallow {
                self.file("shallow", shallow)?;
            }
            Ok(())
        };
        made().map_err(WorktreeError::io("write the private repository", self.at))?;
        self.borrow_from(&repository.objects())?;
        self.take_index(repository)
    }

    /// Says where the objects are that it does not have itself.
    pub(crate) fn borrow_from(&self, objects: &Path) -> Result<(), WorktreeError> {
        if objects.as_os_str().as_bytes().contains(&b'\n') {
            let (why, remedy) = ("has a line break in its name, which git cannot write down", "rename it");
            return Err(WorktreeError::Unfit { path: objects.to_owned(), why, remedy });
        }
        let line = [objects.as_os_str().as_bytes(), b"\n"].concat();
        let place = self.at.join("objects/info/alternates");
        let write = || -> io::Result<()> {
            match fs::remove_file(&place) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            self.file("objects/info/alternates", &line)
        };
        write().map_err(WorktreeError::io("write", &place))
    }

    /// Copies the user's index, and what it shares with others. Its time says which files may have changed unseen.
    fn take_index(&self, repository: &Repository) -> Result<(), WorktreeError> {
        let copy = || -> io::Result<()> {
            let from = tree::open_root(&repository.git_dir)?;
            let to = tree::open_root(self.at)?;
            let names = tree::names(from.as_fd())?;
            let index = |name: &&std::ffi::OsString| *name == "index" || name.as_bytes().starts_with(b"sharedindex.");
            for name in names.iter().filter(index) {
                let file = open_host_file(from.as_fd(), name)?;
                let stat = tree::stat_of(file.as_fd())?;
                if stat.size > INDEX_BYTES_MAX {
                    let why = format!("the index has more than {INDEX_BYTES_MAX} bytes");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                }
                let mut copy = self.create(Path::new(name))?;
                io::copy(&mut file.take(INDEX_BYTES_MAX), &mut copy)?;
                drop(copy);
                tree::set_modified(to.as_fd(), name, stat.modified)?;
            }
            Ok(())
        };
        copy().map_err(WorktreeError::io("copy the index of", &repository.git_dir))
    }

    fn directory(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let mut missing: Vec<PathBuf> = Vec::new();
        let mut place = self.at.join(name);
        // A trailing slash comes of an empty name.
        while !place.is_dir() {
            missing.push(place.clone());
            let Some(parent) = place.parent() else { break };
            place = parent.to_owned();
        }
        for place in missing.iter().rev() {
            fs::DirBuilder::new().mode(0o755).create(place)?;
            self.owner.give(place)?;
        }
        Ok(())
    }

    fn create(&self, name: &Path) -> io::Result<File> {
        let place = self.at.join(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&place)?;
        self.owner.give(&place)?;
        Ok(file)
    }

    fn file(&self, name: impl AsRef<Path>, content: &[u8]) -> io::Result<()> {
        self.create(name.as_ref())?.write_all(content)
    }
}

fn read_info_exclude(common_dir: &Path) -> Result<Option<Vec<u8>>, WorktreeError> {
    let info = common_dir.join("info");
    match fs::symlink_metadata(&info) {
        Ok(found) if found.is_dir() => read_bytes(&info, "exclude", EXCLUDE_BYTES_MAX),
        _ => Ok(None),
    }
}

/// What git has to know, and no more. Copies have other numbers and change times than the files in whose place they are,
/// so git compares sizes and times of modification alone, and need not read everything anew.
fn config(digits: usize, work_tree: Option<&Path>) -> String {
    let sha256 = digits == 64;
    let mut text = format!(
        "[core]\n\trepositoryformatversion = {}\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
         \ttrustctime = false\n\tcheckstat = minimal\n\tuntrackedcache = false\n\tfsmonitor = false\n",
        u8::from(sha256)
    );
    if let Some(work_tree) = work_tree {
        let quoted = work_tree.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        text.push_str(&format!("\tworktree = \"{quoted}\"\n"));
    }
    if sha256 {
        text.push_str("[extensions]\n\tobjectformat = sha256\n");
    }
    text
}

/// From one place below a root to another: up as far as needed, and down.
pub(crate) fn way(from: &Path, to: &Path) -> PathBuf {
    let ups = from.components().filter(|part| part.as_os_str() != OsStr::new("")).map(|_| "..");
    ups.collect::<PathBuf>().join(to)
}

#[cfg(test)]
mod tests {
    use super::{config, way};
    use std::path::Path;

    #[test]
    fn a_tree_that_is_elsewhere_is_named_and_quoted() {
        assert!(!config(40, None).contains("worktree"));
        assert!(config(40, Some(Path::new("../a\"b\\c"))).contains("worktree = \"../a\\\"b\\\\c\"\n"));
        assert!(config(64, None).contains("repositoryformatversion = 1") && config(64, None).contains("sha256"));
    }

    #[test]
    fn a_way_leads_up_and_down() {
        assert_eq!(way(Path::new("vendor/sub"), Path::new(".git/modules/x")), Path::new("../../.git/modules/x"));
        assert_eq!(way(Path::new(""), Path::new("x")), Path::new("x"));
    }
}
