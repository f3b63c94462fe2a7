//! Where a repository is, and whether it can be copied now. Its files are read, never obeyed.
//!
//! A `.git` that is a file is text of the tree: whoever wrote it could name any repository of the host, whose objects would
//! then be shown. So what it leads to has to lead back, or to lie in the repository that the tree belongs to.

use super::error::WorktreeError;
use crate::content::read_bounded;
use crate::read::open_host_file;
use polder_sys::tree::{self, Kind};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// More than any pointer, ref or mark of git has.
const POINTER_BYTES_MAX: u64 = 8 << 10;

/// A repository with a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The tree.
    pub(crate) tree: PathBuf,
    /// What belongs to this tree: HEAD and the index.
    pub(crate) git_dir: PathBuf,
    /// What belongs to all trees of the repository: refs and objects.
    pub(crate) common_dir: PathBuf,
}

impl Repository {
    /// The repository whose root a tree is.
    pub(crate) fn of(root: &Path) -> Result<Self, WorktreeError> {
        let none = || WorktreeError::NoRepository { root: root.to_owned() };
        match kind_of(root, ".git")? {
            None => Err(none()),
            Some(Kind::Directory) => Self::checked(root, root.join(".git")),
            Some(Kind::File) => {
                let linked = polder_sys::facts::linked_worktree(root).ok_or(WorktreeError::Unfit {
                    path: root.join(".git"),
                    why: "leads to a repository that does not lead back",
                    remedy: "work in the root of the repository that it is a part of",
                })?;
                let found = Self { tree: root.to_owned(), git_dir: linked.git_dir, common_dir: linked.common_dir };
                found.check().map(|()| found)
            }
            Some(_) => Err(none()),
        }
    }

    /// The repository of a submodule, if its tree is there.
    pub(crate) fn of_submodule(&self, tree: &Path) -> Result<Option<Self>, WorktreeError> {
        let pointer = tree.join(".git");
        let astray = |why| WorktreeError::Unfit {
            path: pointer.clone(),
            why,
            remedy: "make it anew with `git submodule update --init`",
        };
        match kind_of(tree, ".git") {
            Ok(None) => Ok(None),
            Ok(Some(Kind::Directory)) => Self::checked(tree, pointer).map(Some),
            Ok(Some(Kind::File)) => {
                let text = read_text(tree, ".git")?.unwrap_or_default();
                let named = text.strip_prefix("gitdir:").map(str::trim).ok_or(astray("is no pointer"))?;
                let git_dir =
                    fs::canonicalize(tree.join(named)).map_err(WorktreeError::io("follow", &tree.join(".git")))?;
                let modules = [self.git_dir.join("modules"), self.common_dir.join("modules")];
                if !modules.iter().any(|modules| git_dir.starts_with(modules) && git_dir != *modules) {
                    return Err(astray("leads out of the repository that it is a part of"));
                }
                Self::checked(tree, git_dir).map(Some)
            }
            Ok(Some(_)) => Err(astray("is neither a repository nor a pointer to one")),
            // Nobody has looked into it yet: it is not populated.
            Err(WorktreeError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn checked(tree: &Path, git_dir: PathBuf) -> Result<Self, WorktreeError> {
        let found = Self { tree: tree.to_owned(), common_dir: git_dir.clone(), git_dir };
        if kind_of(&found.git_dir, "commondir")?.is_some() {
            return Err(WorktreeError::Unfit {
                path: found.git_dir.join("commondir"),
                why: "leads git to another repository, and git makes no such file here",
                remedy: "remove it",
            });
        }
        found.check().map(|()| found)
    }

    /// Where its objects are.
    pub(crate) fn objects(&self) -> PathBuf {
        self.common_dir.join("objects")
    }

    fn check(&self) -> Result<(), WorktreeError> {
        let mut there = Vec::new();
        for (name, _, _) in UNDER_WAY {
            if kind_of(&self.git_dir, name)?.is_some() {
                there.push(name);
            }
        }
        if let Some((what, remedy)) = under_way(&there) {
            return Err(WorktreeError::UnderWay { root: self.tree.clone(), what, remedy });
        }
        if kind_of(&self.common_dir, "reftable")?.is_some() {
            return Err(WorktreeError::Unfit {
                path: self.common_dir.join("reftable"),
                why: "keeps the refs in a form that polder does not read",
                remedy: "`git refs migrate --ref-format=files`",
            });
        }
        if kind_of(&self.common_dir, "objects")? != Some(Kind::Directory) {
            return Err(WorktreeError::Unfit {
                path: self.objects(),
                why: "is not a directory",
                remedy: "keep the objects in the repository",
            });
        }
        let borrowed = read_text(&self.objects().join("info"), "alternates");
        match borrowed {
            Ok(Some(text)) if !text.trim().is_empty() => Err(WorktreeError::Unfit {
                path: self.objects().join("info/alternates"),
                why: "borrows the objects of another repository, which would have to be shown as well",
                remedy: "take them over with `git repack -a -d` and remove it",
            }),
            Err(WorktreeError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map(drop),
        }
    }
}

/// By what git knows that something is half done, what that is, and the way out of it.
const UNDER_WAY: [(&str, &str, &str); 9] = [
    ("MERGE_HEAD", "a merge", "`git merge --continue` or `--abort` first"),
    ("rebase-merge", "a rebase", "`git rebase --continue` or `--abort` first"),
    ("rebase-apply", "a rebase or `git am`", "`git rebase --abort` or `git am --abort` first"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "`git cherry-pick --continue` or `--abort` first"),
    ("REVERT_HEAD", "a revert", "`git revert --continue` or `--abort` first"),
    ("sequencer", "a series of cherry-picks or reverts", "finish it with `--continue` or `--abort` first"),
    ("BISECT_LOG", "a bisection", "`git bisect reset` first"),
    ("BISECT_START", "a bisection", "`git bisect reset` first"),
    ("index.lock", "another git command", "wait for it, or remove `index.lock` if it was killed"),
];

/// What is half done in a repository that has these marks.
fn under_way(there: &[&str]) -> Option<(&'static str, &'static str)> {
    UNDER_WAY.iter().find(|(name, _, _)| there.contains(name)).map(|(_, what, remedy)| (*what, *remedy))
}

fn kind_of(directory: &Path, name: &str) -> Result<Option<Kind>, WorktreeError> {
    let path = directory.join(name);
    let opened = tree::open_root(directory).map_err(WorktreeError::io("open", directory))?;
    match tree::stat(opened.as_fd(), OsStr::new(name)) {
        Ok(stat) => Ok(Some(stat.kind)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(WorktreeError::Io { what: "look at", path, source }),
    }
}

/// A small text of a repository: absent, or a regular file that no link leads to.
pub(crate) fn read_text(directory: &Path, name: &str) -> Result<Option<String>, WorktreeError> {
    let bytes = read_bytes(directory, name, POINTER_BYTES_MAX)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// A file of a repository, if it is there and no larger.
pub(crate) fn read_bytes(directory: &Path, name: &str, max: u64) -> Result<Option<Vec<u8>>, WorktreeError> {
    let path = directory.join(name);
    let read = || -> io::Result<Option<Vec<u8>>> {
        let directory = tree::open_root(directory)?;
        let file = match open_host_file(directory.as_fd(), OsStr::new(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let too_large = || io::Error::new(io::ErrorKind::InvalidData, format!("it has more than {max} bytes"));
        read_bounded(&file, max)?.ok_or_else(too_large).map(Some)
    };
    read().map_err(WorktreeError::io("read", &path))
}

#[cfg(test)]
mod tests {
    use super::under_way;

    #[test]
    fn what_is_half_done_has_a_name_and_a_way_out() {
        for (mark, word) in [
            ("MERGE_HEAD", "merge"),
            ("rebase-merge", "rebase"),
            ("rebase-apply", "am"),
            ("CHERRY_PICK_HEAD", "cherry-pick"),
            ("REVERT_HEAD", "revert"),
            ("BISECT_LOG", "bisection"),
            ("index.lock", "another git command"),
        ] {
            let (what, remedy) = under_way(&[mark]).unwrap();
            assert!(what.contains(word) && !remedy.is_empty(), "{what}");
        }
        assert_eq!(under_way(&[]), None);
    }
}
