//! What a private copy is made of, looked at or copied: the tree of a repository and those of its submodules.

use super::error::WorktreeError;
use super::files::Files;
use super::git::Git;
use super::listing::{self, Listed, ListedKind, Wrong};
use super::private::{Owner, Private, way};
use super::repository::Repository;
use crate::relative::Relative;
use polder_sys::tree;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Submodules below each other.
const DEPTH_MAX: usize = 8;

/// What is to be copied, and how.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Whom to ask which files belong to it.
    pub git: Git,
    /// Whether files that git does not know yet belong to it.
    pub untracked: bool,
    /// The directory inside below which the borrowed objects are shown, by their number.
    pub borrowed: PathBuf,
    /// The repositories of a copy that has several, that of the tree among them and first; empty for the tree alone.
    pub projects: Vec<Project>,
}

/// One repository of a copy that has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The directory of the copy that holds it.
    pub name: String,
    /// Its root on the host, without a link.
    pub root: PathBuf,
}

/// What a copy is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Where the repository and its submodules keep their objects, in the order of their numbers.
    pub objects: Vec<PathBuf>,
    /// Files and links of the copy, below its root, without those of the private repositories.
    pub files: BTreeSet<PathBuf>,
    /// Directories of the copy that may be empty: places of submodules.
    pub places: BTreeSet<PathBuf>,
    /// What git would obey in the copy: the private repositories with their hooks, and files that lead to them.
    pub repositories: Vec<PrivatePaths>,
}

/// A private repository of a copy, as paths below the root of the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivatePaths {
    /// The repository, a directory with `hooks` and `config`.
    pub directory: PathBuf,
    /// The file in its tree that leads there, for a submodule.
    pub pointer: Option<PathBuf>,
}

impl Captured {
    /// A mark of all of it.
    pub fn digest(&self) -> String {
        let Self { objects, files, places, repositories } = self;
        let mut hash = Sha256::new();
        let directories = repositories.iter().map(|paths| &paths.directory);
        for (kind, paths) in [
            (b'o', objects.iter().collect::<Vec<_>>()),
            (b'f', files.iter().collect()),
            (b'p', places.iter().collect()),
            (b'r', directories.collect()),
        ] {
            for path in paths {
                hash.update([kind]);
                hash.update(path.as_os_str().as_bytes());
                hash.update([0]);
            }
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Looks at what a copy would be made of. The private repositories are made in `scratch`, which the caller removes.
pub(crate) fn survey_into(scratch: &Path, root: &Path, capture: &Capture) -> Result<Captured, WorktreeError> {
    Work::new(scratch, capture, Copying::Nothing).all(root)
}

/// Copies the tree into an empty directory.
pub(crate) fn capture_into(base: &Path, root: &Path, capture: &Capture) -> Result<Captured, WorktreeError> {
    Work::new(base, capture, Copying::Files).all(root)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Copying {
    Nothing,
    Files,
}

struct Work<'a> {
    base: &'a Path,
    capture: &'a Capture,
    copying: Copying,
    found: Captured,
}

/// One repository of the copy.
struct Part<'a> {
    repository: &'a Repository,
    /// Its tree, below the root of the copy.
    prefix: &'a Path,
    /// Its private repository, below the root of the copy.
    private: &'a Path,
    depth: usize,
}

impl<'a> Work<'a> {
    fn new(base: &'a Path, capture: &'a Capture, copying: Copying) -> Self {
        let found =
            Captured { objects: Vec::new(), files: BTreeSet::new(), places: BTreeSet::new(), repositories: Vec::new() };
        Self { base, capture, copying, found }
    }

    fn all(mut self, root: &Path) -> Result<Captured, WorktreeError> {
        let projects = &self.capture.projects;
        if projects.is_empty() {
            let repository = Repository::of(root)?;
            self.part(&Part { repository: &repository, prefix: Path::new(""), private: Path::new(".git"), depth: 0 })?;
        }
        for Project { name, root } in projects {
            let repository = Repository::of(root)?;
            let (prefix, private) = (Path::new(name), Path::new(name).join(".git"));
            self.part(&Part { repository: &repository, prefix, private: &private, depth: 0 })?;
        }
        Ok(self.found)
    }

    fn part(&mut self, part: &Part<'_>) -> Result<(), WorktreeError> {
        let Part { repository, prefix, private, depth } = *part;
        let (base, tree) = (self.base, repository.tree.as_path());
        let owner = owner_of(tree)?;
        let at = base.join(private);
        let place = Private { at: &at, owner };
        let work_tree = (depth > 0).then(|| way(private, prefix));
        place.make(repository, work_tree.as_deref())?;
        let listed = self.list(&at, tree)?;
        let number = self.found.objects.len();
        self.found.objects.push(repository.objects());
        let pointer = (depth > 0).then(|| prefix.join(".git"));
        self.found.repositories.push(PrivatePaths { directory: private.to_owned(), pointer });
        let to = (self.copying == Copying::Files).then(|| base.join(prefix));
        let mut files = Files::open(tree, to.as_deref(), owner)?;
        for Listed { path, kind } in &listed {
            let below = prefix.join(path.as_path());
            match kind {
                ListedKind::File => {
                    if files.take(path)? {
                        self.found.files.insert(below);
                    }
                }
                ListedKind::Submodule => {
                    let tree = tree.join(path.as_path());
                    if !fs::symlink_metadata(&tree).is_ok_and(|found| found.is_dir()) {
                        continue;
                    }
                    files.take_directory(path)?;
                    self.found.places.insert(below.clone());
                    let Some(inner) = repository.of_submodule(&tree)? else { continue };
                    self.submodule(&inner, path, &below, part)?;
                }
            }
        }
        if self.copying == Copying::Files {
            place.borrow_from(&self.capture.borrowed.join(number.to_string()))?;
        }
        Ok(())
    }

    fn submodule(
        &mut self,
        inner: &Repository,
        path: &Relative,
        prefix: &Path,
        outer: &Part<'_>,
    ) -> Result<(), WorktreeError> {
        if outer.depth == DEPTH_MAX {
            let (why, remedy) = ("is a submodule in too many others", "fetch fewer of them");
            return Err(WorktreeError::Unfit { path: inner.tree.clone(), why, remedy });
        }
        let private = outer.private.join("modules").join(path.as_path());
        let depth = outer.depth + 1;
        self.part(&Part { repository: inner, prefix, private: &private, depth })?;
        if self.copying == Copying::Files {
            let pointer = self.base.join(prefix).join(".git");
            let text = [b"gitdir: ", way(prefix, &private).as_os_str().as_bytes(), b"\n"].concat();
            let write = || -> std::io::Result<()> {
                fs::write(&pointer, text)?;
                owner_of_path(&inner.tree)?.give(&pointer)
            };
            write().map_err(WorktreeError::io("write", &pointer))?;
        }
        Ok(())
    }

    fn list(&self, private: &Path, tree: &Path) -> Result<Vec<Listed>, WorktreeError> {
        let Capture { git, untracked, .. } = self.capture;
        let wrong = |wrong: Wrong| match wrong {
            Wrong::Unmerged => WorktreeError::UnderWay {
                root: tree.to_owned(),
                what: "a merge with conflicts",
                remedy: "resolve them, or `git reset --merge`, first",
            },
            Wrong::Path(path) => WorktreeError::Unfit {
                path: tree.join(path),
                why: "is in the index, and no honest one has such a path",
                remedy: "make the index anew with `git reset`",
            },
            Wrong::Form => WorktreeError::Git { root: tree.to_owned(), said: "an answer of another form".to_owned() },
        };
        let answer = git.ls_files(private, tree, &["--stage", "-z"])?;
        let mut listed = listing::tracked(&answer).map_err(wrong)?;
        if *untracked {
            let answer = git.ls_files(private, tree, &["--others", "--exclude-standard", "-z"])?;
            listed.extend(listing::untracked(&answer).map_err(wrong)?);
        }
        // Neighbours share their directory.
        listed.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listed)
    }
}

/// Root's copies belong to the owner of the tree, as whom its commands run.
fn owner_of(tree: &Path) -> Result<Owner, WorktreeError> {
    owner_of_path(tree).map_err(WorktreeError::io("look at", tree))
}

fn owner_of_path(path: &Path) -> std::io::Result<Owner> {
    if polder_sys::wait::effective_ids().0 != 0 {
        return Ok(Owner(None));
    }
    let stat = tree::stat_of(tree::open_root(path)?.as_fd())?;
    Ok(Owner(Some((stat.uid, stat.gid))))
}
