//! Facts about a workspace of mode `worktree`: the command sees a copy, so the plan has to speak of the copy.
//!
//! A copy that is there already is looked at like a tree. A new one does not exist yet: it will have what git knows of the
//! tree, and a repository of polder's own. Its mark is remembered, and whoever makes the copy looks whether it is the same.

use crate::projects;
use crate::workspace::{WorkspaceError, open_store};
use polder_facts::{CapturedFacts, Entry, TreeFacts, UserFacts};
use polder_plan::BORROWED;
use polder_policy::{Policy, Workspace, WorkspaceMode};
use polder_sys::facts as look;
use polder_workspace::{Capture, Captured, Git, Mode, Name, PrivatePaths, StoreError};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The copy that a run will see.
pub(crate) enum Copy {
    /// It is there.
    There { place: PathBuf, facts: CapturedFacts },
    /// It will be made of this.
    New(Captured),
}

impl Copy {
    /// Where it is, if it is.
    pub(crate) fn place(&self) -> Option<&Path> {
        match self {
            Self::There { place, .. } => Some(place),
            Self::New(_) => None,
        }
    }
}

/// What a new copy is made of.
pub(crate) fn capture(
    asked: &Workspace,
    environment: &BTreeMap<OsString, OsString>,
    root: &Path,
) -> Result<Capture, WorkspaceError> {
    let projects = projects::of(asked, root)?;
    let roots: Vec<&Path> = std::iter::once(root).chain(projects.iter().map(|one| one.root.as_path())).collect();
    let git = Git::find(environment, &roots).map_err(StoreError::from)?;
    Ok(Capture { git, untracked: asked.untracked, borrowed: PathBuf::from(BORROWED), projects })
}

/// The copy that a policy asks for.
pub(crate) fn copy(
    policy: &Policy,
    root: &Path,
    user: &UserFacts,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<Option<Copy>, WorkspaceError> {
    let asked = &policy.workspace.value;
    match asked.mode {
        WorkspaceMode::Direct | WorkspaceMode::Cow => return Ok(None),
        WorkspaceMode::Worktree => {}
    }
    let store = open_store(environment, &user.home)?;
    // One that begins with the changes of another begins with its copy.
    for name in [&asked.name, &asked.from].into_iter().flatten() {
        let found = store.named(&name.parse::<Name>()?, root)?;
        if let Some(found) = found.filter(|found| found.mode() == Mode::Worktree)
            && let Some((objects, digest)) = found.borrowed()?
        {
            return Ok(Some(Copy::There { place: found.base(), facts: CapturedFacts { objects, digest } }));
        }
    }
    let capture = capture(asked, environment, root)?;
    Ok(Some(Copy::New(store.survey(root, &capture)?)))
}

/// Makes facts that were gathered about the tree, or about a copy at another place, those of the copy at the tree's place.
pub(crate) fn speak_of(copy: &Copy, tree: &mut TreeFacts, root: &Path) {
    match copy {
        Copy::There { place, facts } => {
            let moved = |path: &Path| path.strip_prefix(place).map_or(path.to_owned(), |below| root.join(below));
            tree.root = root.to_owned();
            tree.worktree = look::linked_worktree(root);
            tree.entries = tree.entries.iter().map(|(path, entry)| (moved(path), entry.clone())).collect();
            for found in tree.matches.values_mut().chain([&mut tree.submodules]) {
                for path in found.iter_mut() {
                    *path = moved(path);
                }
            }
            tree.captured = Some(facts.clone());
        }
        Copy::New(captured) => {
            let will_be = |path: &Path| path.strip_prefix(root).map_or(true, |below| has(captured, below));
            for (path, entry) in &mut tree.entries {
                if !will_be(path) {
                    *entry = Entry::Missing;
                } else if path.starts_with(root) && matches!(entry, Entry::File { .. }) {
                    // A copy has one name.
                    *entry = Entry::File { links: 1 };
                }
            }
            for found in tree.matches.values_mut() {
                found.retain(|path| will_be(path));
            }
            tree.submodules.clear();
            for PrivatePaths { directory, pointer } in &captured.repositories {
                let own = [directory.join("hooks"), directory.join("config")];
                let entries = [Entry::Directory, Entry::File { links: 1 }];
                for (path, entry) in own.iter().zip(entries) {
                    for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
                        tree.entries.insert(root.join(above), Entry::Directory);
                    }
                    tree.entries.insert(root.join(path), entry);
                }
                if let Some(pointer) = pointer {
                    tree.entries.insert(root.join(pointer), Entry::File { links: 1 });
                    tree.submodules.extend(own.iter().chain([pointer]).map(|path| root.join(path)));
                }
            }
            tree.submodules.sort();
            tree.captured = Some(CapturedFacts { objects: captured.objects.clone(), digest: captured.digest() });
        }
    }
}

/// Whether a copy will have something at a path: a file, or a directory with a file in it.
fn has(captured: &Captured, path: &Path) -> bool {
    let Captured { files, places, .. } = captured;
    let at_or_below = |paths: &std::collections::BTreeSet<PathBuf>| {
        paths.range(path.to_owned()..).next().is_some_and(|next| next.starts_with(path))
    };
    path.as_os_str().is_empty() || at_or_below(files) || at_or_below(places)
}
