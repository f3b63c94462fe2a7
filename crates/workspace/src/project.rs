//! Several repositories in one workspace: one copy and one layer hold them all, each in a directory of its own, and each is
//! reviewed and applied by itself.
//!
//! An apply is a transaction in one tree, so what is known of it (its journal, what it left, how to take it back) is kept for
//! each repository. The lock is the workspace's: nobody applies one repository while a command can write to the layer.

use crate::about::{About, ProjectRoot};
use crate::known;
use crate::store::StoreError;
use crate::workspace::{JOURNAL, UPPER, Workspace};
use crate::worktree::{BASE, Project, WorktreeError};
use polder_sys::tree;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Where what is known about each of them is kept, in the directory of the workspace.
const PROJECTS: &str = "projects";

/// Which of several repositories a workspace stands for.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// The directory of the whole.
    pub(crate) whole: PathBuf,
    pub(crate) directory: OwnedFd,
}

/// The trees of these repositories as they are now.
pub(crate) fn roots(projects: &[Project], store: &Path, owner: u32) -> Result<Vec<ProjectRoot>, StoreError> {
    let mut found: Vec<ProjectRoot> = Vec::new();
    for Project { name, root } in projects {
        let unfit = |why| StoreError::UnfitProject { root: root.clone(), why };
        let stat = tree::open_root(root).and_then(|tree| tree::stat_of(tree.as_fd()));
        let stat = stat.map_err(WorktreeError::io("open", root))?;
        if store.starts_with(root) {
            return Err(StoreError::StoreInside { root: root.clone(), store: store.to_owned() });
        }
        if polder_sys::wait::effective_ids().0 == 0 && stat.uid != owner {
            return Err(unfit("it belongs to another user than the tree, as whom the command runs"));
        }
        if found.iter().any(|other| other.root.starts_with(root) || root.starts_with(&other.root)) {
            return Err(unfit("it lies in another one, or holds it, and a file would be in the workspace twice"));
        }
        found.push(ProjectRoot { name: name.clone(), root: root.clone(), device: stat.device, inode: stat.inode });
    }
    Ok(found)
}

/// Makes what each of them needs in a new workspace: a directory of the layer like that of the copy, and a place for what
/// will be known. `before` is the workspace whose changes it begins with.
pub(crate) fn make_places(
    place: &Path,
    own: BorrowedFd<'_>,
    projects: &[ProjectRoot],
    before: Option<&Workspace>,
) -> io::Result<()> {
    if projects.is_empty() {
        return Ok(());
    }
    tree::make_directory(own, OsStr::new(PROJECTS), 0o700)?;
    let (layer, base) = (tree::open_below(own, Path::new(UPPER))?, tree::open_below(own, Path::new(BASE))?);
    let known = tree::open_below(own, Path::new(PROJECTS))?;
    for ProjectRoot { name, root, .. } in projects {
        let name = OsStr::new(name);
        tree::make_directory(known.as_fd(), name, 0o700)?;
        if let Some(before) = before {
            known::copy(&before.place.join(PROJECTS).join(name), &place.join(PROJECTS).join(name))?;
            continue;
        }
        let stat = tree::stat_of(tree::open_root(root)?.as_fd())?;
        tree::make_directory(layer.as_fd(), name, 0o700)?;
        for directory in [layer.as_fd(), base.as_fd()] {
            if polder_sys::wait::effective_ids().0 == 0 {
                tree::change_owner(directory, name, stat.uid, stat.gid)?;
            }
            tree::change_mode(directory, name, stat.mode & 0o777 | 0o700)?;
        }
    }
    Ok(())
}

/// The journal of one of them, below the directory of the workspace.
pub(crate) fn journal(name: &str) -> PathBuf {
    Path::new(PROJECTS).join(name).join(JOURNAL)
}

impl Workspace {
    /// The names and trees of its repositories, where it has several; that of the tree is the first.
    pub fn projects(&self) -> Vec<(&str, &Path)> {
        self.about.projects.iter().map(|one| (one.name.as_str(), one.root.as_path())).collect()
    }

    /// Which of several repositories this is.
    pub fn project(&self) -> Option<&str> {
        self.part.as_ref().map(|part| part.name.as_str())
    }

    /// Its name as the verbs take it, with the project that is meant of several.
    pub fn full_name(&self) -> String {
        match self.project() {
            None => self.about.name.to_string(),
            Some(project) => format!("{} --project {project}", self.about.name),
        }
    }

    /// How deep the tree lies in which a directory is, of its tree or trees; none, if it is in none of them.
    pub(crate) fn covers(&self, directory: &Path) -> Option<usize> {
        let roots = std::iter::once(&self.about.root).chain(self.about.projects.iter().map(|one| &one.root));
        roots.filter(|root| directory.starts_with(root)).map(|root| root.components().count()).max()
    }

    fn project_of(&self, directory: &Path) -> Option<&str> {
        let found = self.about.projects.iter().find(|one| directory.starts_with(&one.root));
        found.map(|one| one.name.as_str())
    }

    /// What a review and an apply are about: one of its repositories, by name or by a directory in its tree. A workspace of
    /// one tree is its only part.
    pub fn part(self, name: Option<&str>, directory: &Path) -> Result<Self, StoreError> {
        let here = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        let there = || words(self.about.projects.iter().map(|one| one.name.as_str()));
        let chosen = match name {
            None => self.project_of(&here).or(self.about.projects.first().map(|main| main.name.as_str())),
            Some(name) if self.about.projects.iter().any(|one| one.name == name) => Some(name),
            Some(name) => {
                let (name, project) = (self.about.name.clone(), name.to_owned());
                return Err(StoreError::NoProject { name, project, there: there() });
            }
        };
        match chosen.map(str::to_owned) {
            None => Ok(self),
            Some(chosen) => self.one(&chosen),
        }
    }

    /// All of them.
    pub fn parts(&self) -> Result<Vec<Self>, StoreError> {
        self.about.projects.iter().map(|one| self.one(&one.name)).collect()
    }

    fn one(&self, chosen: &str) -> Result<Self, StoreError> {
        let found = self.about.projects.iter().find(|one| one.name == chosen);
        let Some(ProjectRoot { name, root, device, inode }) = found else {
            let there = words(self.about.projects.iter().map(|one| one.name.as_str()));
            return Err(StoreError::NoProject { name: self.about.name.clone(), project: chosen.to_owned(), there });
        };
        let below = Path::new(PROJECTS).join(name);
        let open = || -> io::Result<(OwnedFd, OwnedFd)> {
            Ok((self.directory.try_clone()?, tree::open_below(self.directory.as_fd(), &below)?))
        };
        let (whole, directory) = open().map_err(self.fault("read the projects of"))?;
        let prefix = format!("{name}/");
        let hidden = self.about.hidden.iter().filter_map(|pattern| pattern.strip_prefix(&prefix)).map(str::to_owned);
        let about = About {
            root: root.clone(),
            device: *device,
            inode: *inode,
            born: None,
            hidden: hidden.collect(),
            projects: Vec::new(),
            ..self.about.clone()
        };
        let part = Some(Part { name: name.clone(), whole: self.place.clone(), directory: whole });
        Ok(Self { about, place: self.place.join(below), directory, new: false, part })
    }

    /// Whether it has these repositories, and no others.
    pub(crate) fn must_have(&self, asked: &[Project]) -> Result<(), StoreError> {
        let there = self.projects();
        if there.iter().copied().eq(asked.iter().map(|one| (one.name.as_str(), one.root.as_path()))) {
            return Ok(());
        }
        let listed = |name: &str, root: &Path| format!("{name} of `{}`", root.display());
        let there = words(there.iter().map(|(name, root)| listed(name, root)));
        let asked = words(asked.iter().map(|one| listed(&one.name, &one.root)));
        Err(StoreError::OtherProjects { name: self.about.name.clone(), there, asked })
    }
}

fn words<T: AsRef<str>>(names: impl Iterator<Item = T>) -> String {
    let names: Vec<T> = names.collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    if names.is_empty() { "one tree and no projects".to_owned() } else { names.join(", ") }
}
