//! Where workspaces are kept: `$XDG_STATE_HOME/polder/workspaces`, one directory each, closed to everybody else.
//!
//! A directory gets its final name when everything is in it, so that nobody ever meets half a workspace.

use crate::about::{About, Began, Keep, Mode};
use crate::branch::copy_layer;
use crate::git;
use crate::known;
use crate::leftover;
use crate::lock::{self, Asked, RunLock};
use crate::name::Name;
use crate::project;
use crate::remove::remove_tree;
use crate::sides::born;
use crate::sighted;
use crate::workspace::{ABOUT, UPPER, WORK, Workspace, base_at};
use crate::worktree::{self, BASE, Capture, Captured, WorktreeError};
use polder_sys::tree::{self, Replace, Stat};
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// How often a made-up name may be taken already before something else is wrong.
const NAMES_TRIED_MAX: usize = 16;
const ABOUT_BYTES_MAX: u64 = 1 << 20;

/// The directory with all workspaces of a user.
#[derive(Debug)]
pub struct Store {
    place: PathBuf,
    directory: OwnedFd,
}

/// What a workspace is begun for.
#[derive(Clone, Debug)]
pub struct Begin<'a> {
    /// The tree.
    pub root: &'a Path,
    /// A name makes it one that later runs can share; without one a new workspace begins.
    pub name: Option<Name>,
    /// How it is kept apart.
    pub mode: Mode,
    /// The workspace that it branches from.
    pub parent: Option<Name>,
    /// What a worktree is made of, when it is new and branches from no other.
    pub capture: Option<&'a Capture>,
}

/// A workspace that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// What it is called.
    pub name: String,
    /// Its own directory in the store.
    pub place: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// Why the store did not do its part.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A repository beside the tree cannot be one of the workspace.
    #[error("`{}` cannot be a project of the workspace: {why}", root.display())]
    UnfitProject {
        /// The repository.
        root: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// There is one of this name already, and it has other repositories.
    #[error("the workspace `{name}` is there already with {there}, and not with {asked}; choose another name")]
    OtherProjects {
        /// The workspace.
        name: Name,
        /// What it has.
        there: String,
        /// What it was to have.
        asked: String,
    },
    /// It has no repository of this name.
    #[error("the workspace `{name}` has no project `{project}`; it has {there}")]
    NoProject {
        /// The workspace.
        name: Name,
        /// What was asked for.
        project: String,
        /// What it has.
        there: String,
    },
    /// Somebody else could write there.
    #[error("`{}` cannot hold workspaces: {why}", place.display())]
    Unsafe {
        /// The store.
        place: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The store would lie in the tree, and the command could reach it.
    #[error("`{}` cannot be a workspace, because the store `{}` lies in it; set XDG_STATE_HOME to a place outside", root.display(), store.display())]
    StoreInside {
        /// The tree.
        root: PathBuf,
        /// The store.
        store: PathBuf,
    },
    /// The name belongs to another tree, or to the same path with another tree at it.
    #[error("the workspace `{name}` belongs to another `{}`: the directory was replaced since; `polder workspace discard {name}`, or choose another name", root.display())]
    Replaced {
        /// The workspace.
        name: Name,
        /// The tree's path.
        root: PathBuf,
    },
    /// A workspace of this name is there, in another mode.
    #[error("the workspace `{name}` was begun in mode `{mode}`; use it with `--{mode}`, choose another name, or `polder workspace discard {name}`", mode = .mode.name())]
    OtherMode {
        /// The workspace.
        name: Name,
        /// Its mode.
        mode: Mode,
    },
    /// A run or an apply has it.
    #[error("the workspace `{name}` is in use by pid {pid}; wait for it, or use another name")]
    InUse {
        /// The workspace.
        name: Name,
        /// Who has it.
        pid: String,
    },
    /// What is known about it cannot be read: it was not written to its end, or is not ours.
    #[error("the workspace `{name}` is damaged; `polder workspace discard {name}` removes it with what is in it")]
    Damaged {
        /// What it is called.
        name: String,
        /// What is wrong with it.
        source: io::Error,
    },
    /// An apply did not come to its end.
    #[error(
        "an apply of the workspace `{name}` was interrupted; `polder workspace apply {name} --resume` or `--abort` first"
    )]
    Interrupted {
        /// The workspace, and the project of it, as the verb takes them.
        name: String,
    },
    /// There is none of that name.
    #[error("there is no workspace `{name}`; `polder workspace list` shows those that are there")]
    Unknown {
        /// The name.
        name: String,
    },
    /// There is none for this tree.
    #[error("there is no workspace for `{}`; `polder run --cow` begins one", root.display())]
    NoneHere {
        /// The tree.
        root: PathBuf,
    },
    /// The only one of that name belongs to another tree.
    #[error("the workspace `{name}` belongs to `{tree}`; call polder there, or with `-C {tree}`", tree = root.display())]
    Elsewhere {
        /// The name.
        name: Name,
        /// Its tree.
        root: PathBuf,
    },
    /// Several trees have one of that name.
    #[error("several trees have a workspace `{name}`: {}; call polder in the one that is meant", roots.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// The trees.
        roots: Vec<String>,
    },
    /// The store cannot hold layers.
    #[error("`{}` {why}; set XDG_STATE_HOME to a place on another file system", place.display())]
    NoLayers {
        /// The store.
        place: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// There is no private copy of the tree.
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    /// The kernel refused.
    #[error("cannot {what} `{name}`")]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        name: String,
        /// Its answer.
        source: io::Error,
    },
}

impl Store {
    /// Where workspaces are kept for a user with this environment; absent when there is no home.
    pub fn place_for(environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
        let variable = |name: &str| {
            let value = environment.get(OsStr::new(name)).map(PathBuf::from);
            value.filter(|path| path.is_absolute())
        };
        let base = variable("XDG_STATE_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/state")))?;
        Some(base.join("polder/workspaces"))
    }

    /// Opens the store, and makes it where it does not exist. Nobody but the caller may be able to write there.
    pub fn open(place: &Path) -> Result<Self, StoreError> {
        let store = Self::find_place(place)?;
        store.tidy();
        Ok(store)
    }

    /// Ends what somebody who was killed left in the store. What cannot be ended now is met again the next time.
    pub fn tidy(&self) {
        self.sweep(leftover::clear(&self.place, self.directory.as_fd()));
    }

    /// The same as [`Store::open`] for whoever tidies later.
    pub fn find_place(place: &Path) -> Result<Self, StoreError> {
        let fault = |source| StoreError::Io { what: "open", name: place.display().to_string(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(place).map_err(fault)?;
        let (place, directory) = resolve(place).map_err(fault)?;
        let own = tree::stat_of(directory.as_fd()).map_err(fault)?;
        let why = if own.uid != polder_sys::wait::effective_ids().0 {
            Some("it belongs to another user")
        } else if own.mode & 0o077 != 0 {
            Some("others can look into it; `chmod 700` it")
        } else {
            None
        };
        match why {
            Some(why) => Err(StoreError::Unsafe { place, why }),
            None => Ok(Self { place, directory }),
        }
    }

    /// Where it is.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// A name that no workspace of this tree has.
    pub fn unused_name(&self, root: &Path) -> Result<Name, StoreError> {
        let fault = |source| StoreError::Io { what: "name a workspace of", name: root.display().to_string(), source };
        for _ in 0..NAMES_TRIED_MAX {
            let name = Name::made_up().map_err(fault)?;
            if tree::stat(self.directory.as_fd(), OsStr::new(&id(&name, root))).is_err() {
                return Ok(name);
            }
        }
        Err(fault(io::ErrorKind::AlreadyExists.into()))
    }

    /// Where a workspace is or will be, and what its layer is laid over. The root is a path without links.
    pub fn place_of(&self, name: &Name, root: &Path, mode: Mode) -> (PathBuf, PathBuf) {
        let place = self.place.join(id(name, root));
        let base = base_at(&place, root, mode);
        (place, base)
    }

    /// A new workspace, or the one that has this name already. Takes as long for a large tree as for a small one, and as
    /// much longer as the changes take that it begins with.
    pub fn begin(&self, begin: Begin<'_>) -> Result<Workspace, StoreError> {
        let Begin { root, name, mode, parent, capture } = begin;
        let fault = |source| StoreError::Io { what: "begin a workspace of", name: root.display().to_string(), source };
        let (root, opened) = resolve(root).map_err(fault)?;
        let tree = tree::stat_of(opened.as_fd()).map_err(fault)?;
        if self.place.starts_with(&root) {
            return Err(StoreError::StoreInside { root, store: self.place.clone() });
        }
        if let Some(why) = self.no_layers().map_err(fault)? {
            return Err(StoreError::NoLayers { place: self.place.clone(), why });
        }
        let asked = capture.map_or(&[][..], |capture| &capture.projects);
        let projects = project::roots(asked, &self.place, tree.uid)?;
        for _ in 0..NAMES_TRIED_MAX {
            let (chosen, shared) = match &name {
                Some(name) => (name.clone(), true),
                None => (Name::made_up().map_err(fault)?, false),
            };
            let id = id(&chosen, &root);
            if let Some(workspace) = self.reopen(&id)? {
                if !shared {
                    continue;
                }
                if !workspace.began_with(opened.as_fd()).map_err(fault)? {
                    return Err(StoreError::Replaced { name: chosen, root });
                }
                if workspace.about.mode != mode {
                    return Err(StoreError::OtherMode { name: chosen, mode: workspace.about.mode });
                }
                workspace.must_have(asked)?;
                return Ok(workspace);
            }
            let (device, inode, born) = (tree.device, tree.inode, born(opened.as_fd()).map_err(fault)?);
            let before = parent.as_ref().map(|parent| self.before(parent, &root, mode)).transpose()?;
            if let Some((before, _)) = &before {
                before.must_have(asked)?;
            }
            let projects = projects.clone();
            let (place, root, parent) = (root.clone(), root.clone(), parent.clone());
            let hidden = before.as_ref().map(|(before, _)| before.about.hidden.clone()).unwrap_or_default();
            // What the host changed since those changes began is a conflict, however late somebody goes on with them.
            let since = before.as_ref().map(|(before, _)| before.about.began);
            let about = |began| {
                let began = since.unwrap_or(began);
                About { name: chosen, root, device, inode, born, mode, began, parent, hidden, projects }
            };
            let base = match (mode, &before, capture) {
                (Mode::Cow, _, _) => Base::Tree,
                (Mode::Worktree, Some((before, _)), _) => Base::Copied(before),
                (Mode::Worktree, None, Some(capture)) => Base::Captured(capture),
                (Mode::Worktree, None, None) => {
                    let why = "nobody said what the worktree is made of";
                    return Err(fault(io::Error::new(io::ErrorKind::InvalidInput, why)));
                }
            };
            let before = before.as_ref().map(|(before, _)| before);
            match self.make(&id, (&place, &tree), before, base, about) {
                Ok(workspace) => return Ok(workspace),
                // Somebody was quicker with this name: it is theirs, and ours too if it was asked for.
                Err(Unmade::Io(error)) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(Unmade::Io(error)) => return Err(fault(error)),
                Err(Unmade::Worktree(error)) => return Err(error.into()),
            }
        }
        Err(fault(io::ErrorKind::AlreadyExists.into()))
    }

    /// The workspace that another begins with, held so that nobody writes to it meanwhile.
    fn before(&self, name: &Name, root: &Path, mode: Mode) -> Result<(Workspace, RunLock), StoreError> {
        let before = self.reopen(&id(name, root))?.ok_or_else(|| StoreError::Unknown { name: name.to_string() })?;
        if before.about.mode != mode {
            return Err(StoreError::OtherMode { name: name.clone(), mode: before.about.mode });
        }
        let lock = before.lock_for_run()?;
        Ok((before, lock))
    }

    fn make(
        &self,
        id: &str,
        (root, tree): (&Path, &Stat),
        before: Option<&Workspace>,
        base: Base<'_>,
        about: impl FnOnce(Began) -> About,
    ) -> Result<Workspace, Unmade> {
        let fresh = leftover::new(id);
        let place = self.place.join(&fresh);
        DirBuilder::new().mode(0o700).create(&place)?;
        let made = || -> Result<Workspace, Unmade> {
            let own = tree::open_below(self.directory.as_fd(), Path::new(&fresh))?;
            for part in [UPPER, WORK] {
                tree::make_directory(own.as_fd(), OsStr::new(part), 0o700)?;
            }
            if polder_sys::wait::effective_ids().0 == 0 {
                // Root's command is the owner of the tree, and some engines lay the layers as nobody else. The store above
                // stays closed.
                for part in [UPPER, WORK].map(OsStr::new) {
                    let made = tree::stat(own.as_fd(), part)?;
                    if (made.uid, made.gid) != (tree.uid, tree.gid) {
                        tree::change_owner(own.as_fd(), part, tree.uid, tree.gid)?;
                    }
                }
                tree::change_mode(self.directory.as_fd(), OsStr::new(&fresh), 0o711)?;
            }
            if let Some(before) = before {
                let layer = tree::open_below(own.as_fd(), Path::new(UPPER))?;
                copy_layer(before.open_layer()?, layer)?;
                known::copy(&before.place, &place)?;
                sighted::copy(&before.place, &place)?;
                git::copy_base(&before.place, &place)?;
            }
            // The root of the layer is what the command sees as the root of the tree.
            tree::change_mode(own.as_fd(), OsStr::new(UPPER), tree.mode)?;
            make_base(base, &place, root, tree)?;
            let about = about(now(tree::create_file(own.as_fd(), OsStr::new(lock::FILE), 0o600)?)?);
            project::make_places(&place, own.as_fd(), &about.projects, before)?;
            // Nobody finds the workspace before it has its name, so nobody meets half of this.
            let mut file = tree::create_file(own.as_fd(), OsStr::new(ABOUT), 0o600)?;
            file.write_all(about.to_text().as_bytes())?;
            let (store, name) = (self.directory.as_fd(), OsStr::new(id));
            tree::rename(store, OsStr::new(&fresh), store, name, Replace::Nothing)?;
            Ok(Workspace { about, place: self.place.join(id), directory: own, new: true, part: None })
        };
        made().inspect_err(|_| {
            let _ = remove_tree(&place);
        })
    }

    /// Why layers cannot be kept here, if they cannot.
    fn no_layers(&self) -> io::Result<Option<&'static str>> {
        Ok(no_layers_on(tree::file_system(self.directory.as_fd())?, has_zfs_tools))
    }

    /// What is used for workspaces at a place, in words. Nothing is made there.
    pub fn offers(place: &Path) -> String {
        let there = place.ancestors().find_map(|above| tree::open_root(&fs::canonicalize(above).ok()?).ok());
        let kind = there.and_then(|there| tree::file_system(there.as_fd()).ok()).unwrap_or_default();
        if let Some(why) = no_layers_on(kind, has_zfs_tools) {
            return format!("none: it {why}");
        }
        format!("cow is a layer (overlay), copies for worktree {}", copies_on(kind))
    }

    /// What a worktree of this tree would be made of. Nothing is left behind.
    pub fn survey(&self, root: &Path, capture: &Capture) -> Result<Captured, StoreError> {
        let scratch = self.place.join(leftover::new("survey"));
        DirBuilder::new().mode(0o700).create(&scratch).map_err(WorktreeError::io("make", &scratch))?;
        let found = worktree::survey_into(&scratch, root, capture);
        // What cannot be removed is met again by whoever opens the store the next time.
        let _ = remove_tree(&scratch);
        Ok(found?)
    }

    /// The workspace that has this name already, for this tree.
    pub fn named(&self, name: &Name, root: &Path) -> Result<Option<Workspace>, StoreError> {
        self.reopen(&id(name, root))
    }

    fn reopen(&self, id: &str) -> Result<Option<Workspace>, StoreError> {
        let fault = |source| StoreError::Damaged { name: name_of(id).to_owned(), source };
        let directory = match tree::open_below(self.directory.as_fd(), Path::new(id)) {
            Ok(directory) => directory,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fault(error)),
        };
        let read = || -> io::Result<About> {
            let file = tree::open_file(directory.as_fd(), OsStr::new(ABOUT))?;
            if file.metadata()?.size() > ABOUT_BYTES_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "about.json is too large"));
            }
            About::from_text(&io::read_to_string(file)?)
        };
        match read() {
            Ok(about) => Ok(Some(Workspace { about, place: self.place.join(id), directory, new: false, part: None })),
            // Discarded while we looked: the name goes first.
            Err(_) if tree::stat(self.directory.as_fd(), OsStr::new(id)).is_err() => Ok(None),
            Err(error) => Err(fault(error)),
        }
    }

    /// All workspaces that can be read, the newest first.
    pub fn list(&self) -> Result<Vec<Workspace>, StoreError> {
        Ok(self.look()?.0)
    }

    /// Those that cannot be read, with the reason. They are in nobody's way, and can be discarded.
    pub fn damaged(&self) -> Result<Vec<Damaged>, StoreError> {
        Ok(self.look()?.1)
    }

    fn look(&self) -> Result<(Vec<Workspace>, Vec<Damaged>), StoreError> {
        let fault = |source| StoreError::Io { what: "list", name: self.place.display().to_string(), source };
        let (mut found, mut damaged) = (Vec::new(), Vec::new());
        for name in tree::names(self.directory.as_fd()).map_err(fault)? {
            let Some(id) = name.to_str().filter(|id| !id.starts_with('.')) else { continue };
            match self.reopen(id) {
                Ok(workspace) => found.extend(workspace),
                Err(StoreError::Damaged { name, source }) => {
                    damaged.push(Damaged { name, place: self.place.join(id), why: source.to_string() });
                }
                Err(error) => return Err(error),
            }
        }
        found.sort_by(|a, b| b.about.began.fine.cmp(&a.about.began.fine).then_with(|| a.place.cmp(&b.place)));
        Ok((found, damaged))
    }

    /// Removes the workspace of this name if it belongs to a tree that `directory` lies in and cannot be read. Says whether
    /// there was one.
    pub fn remove_damaged(&self, name: &Name, directory: &Path) -> Result<bool, StoreError> {
        let here = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        for root in here.ancestors() {
            let id = id(name, root);
            match self.reopen(&id) {
                Ok(None) => {}
                Err(StoreError::Damaged { .. }) => return self.remove(&id, name).map(|()| true),
                Ok(Some(_)) | Err(_) => return Ok(false),
            }
        }
        Ok(false)
    }

    fn remove(&self, id: &str, name: &Name) -> Result<(), StoreError> {
        let fault = |source| StoreError::Io { what: "remove", name: name.to_string(), source };
        let own = tree::open_below(self.directory.as_fd(), Path::new(id));
        // What has no lock to hold, nobody holds.
        let lock = match own.and_then(|own| lock::ask(own.as_fd())) {
            Ok(Asked::Taken(pid)) => return Err(StoreError::InUse { name: name.clone(), pid }),
            Ok(Asked::Got(lock)) => Some(lock),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(fault(error)),
        };
        let gone = self.place.join(leftover::gone(name.as_str()));
        fs::rename(self.place.join(id), &gone).map_err(fault)?;
        leftover::passed(&self.place.join(id));
        let removed = remove_tree(&gone).map_err(fault);
        drop(lock);
        removed
    }

    /// Ends what runs without a name began and were killed before they could end it.
    fn sweep(&self, passing: Vec<(String, Keep)>) {
        for (id, keep) in passing {
            let place = self.place.join(&id);
            // One that is damaged is for `discard`; one that is half applied is not the run's any more.
            let Some(workspace) = self.reopen(&id).ok().flatten().filter(|found| !found.is_interrupted()) else {
                leftover::passed(&place);
                continue;
            };
            // What cannot be ended now is met again the next time.
            if let Ok(Some(lock)) = lock::ask_once(workspace.directory.as_fd())
                && workspace.is_there()
            {
                let _ = workspace.end(lock, keep);
            }
        }
    }

    /// The newest workspace of the tree that `directory` lies in.
    pub fn newest(&self, directory: &Path) -> Result<Workspace, StoreError> {
        let here = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        let newest = innermost(self.list()?, &here);
        newest.map_err(|_| StoreError::NoneHere { root: here })
    }

    /// The workspace of this name that belongs to the tree which `directory` lies in. For whoever changes or removes
    /// something: one name can be used for many trees.
    pub fn find_here(&self, name: &Name, directory: &Path) -> Result<Workspace, StoreError> {
        let found = self.find(name, directory)?;
        let here = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        if found.covers(&here).is_none() {
            return Err(StoreError::Elsewhere { name: name.clone(), root: found.about.root });
        }
        Ok(found)
    }

    /// The workspace of this name: that of the tree which `directory` lies in, or the only one.
    pub fn find(&self, name: &Name, directory: &Path) -> Result<Workspace, StoreError> {
        let here = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        let all: Vec<_> = self.list()?.into_iter().filter(|workspace| workspace.name() == name).collect();
        let mut all = match innermost(all, &here) {
            Ok(found) => return Ok(found),
            Err(all) => all,
        };
        let roots: Vec<String> = all.iter().map(|workspace| workspace.about.root.display().to_string()).collect();
        match (all.pop(), all.is_empty()) {
            (Some(only), true) => Ok(only),
            (None, _) => Err(StoreError::Unknown { name: name.to_string() }),
            (Some(_), false) => Err(StoreError::Ambiguous { name: name.to_string(), roots }),
        }
    }
}

/// The first of these whose tree `directory` lies in, and lies deepest in: trees can lie in each other. All of them, if there
/// is none.
fn innermost(mut all: Vec<Workspace>, directory: &Path) -> Result<Workspace, Vec<Workspace>> {
    let depths = all.iter().enumerate().filter_map(|(index, one)| Some((one.covers(directory)?, index)));
    match depths.min_by_key(|(depth, _)| Reverse(*depth)) {
        Some((_, index)) => Ok(all.swap_remove(index)),
        None => Err(all),
    }
}

/// The magic numbers of file systems that matter here.
const ZFS: u64 = 0x2fc1_2fc1;
const BTRFS: u64 = 0x9123_683e;
const XFS: u64 = 0x5846_5342;

fn has_zfs_tools() -> bool {
    let tools = ["/sbin/zfs", "/usr/sbin/zfs", "/usr/bin/zfs", "/usr/local/sbin/zfs"];
    tools.iter().any(|tool| Path::new(tool).exists())
}

/// How copies take room there.
fn copies_on(file_system: u64) -> &'static str {
    match file_system {
        BTRFS => "share their blocks with the tree (btrfs)",
        XFS => "share their blocks with the tree (xfs, unless it was made with reflink=0)",
        _ => "are whole",
    }
}

/// Why a file system cannot hold layers, where that is known before the kernel is asked.
fn no_layers_on(file_system: u64, has_zfs_tools: impl FnOnce() -> bool) -> Option<&'static str> {
    (file_system == ZFS && !has_zfs_tools())
        .then_some("lies on ZFS, and its tools, by which one could tell whether it holds layers, are not here")
}

/// What a layer is laid over.
enum Base<'a> {
    /// The tree itself.
    Tree,
    /// A copy of the copy of another workspace.
    Copied(&'a Workspace),
    /// A copy of what git knows of the tree.
    Captured(&'a Capture),
}

/// Why a workspace was not made.
#[derive(Debug)]
enum Unmade {
    Io(io::Error),
    Worktree(WorktreeError),
}

impl From<io::Error> for Unmade {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<WorktreeError> for Unmade {
    fn from(error: WorktreeError) -> Self {
        Self::Worktree(error)
    }
}

/// Makes what the layer is laid over, where that is not the tree itself.
fn make_base(base: Base<'_>, place: &Path, root: &Path, stat: &Stat) -> Result<(), Unmade> {
    let at = place.join(BASE);
    let prepare = || -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(&at)?;
        let own = tree::open_root(place)?;
        if polder_sys::wait::effective_ids().0 == 0 {
            tree::change_owner(own.as_fd(), OsStr::new(BASE), stat.uid, stat.gid)?;
        }
        tree::change_mode(own.as_fd(), OsStr::new(BASE), stat.mode & 0o777 | 0o700)
    };
    match base {
        Base::Tree => {}
        Base::Copied(before) => {
            prepare()?;
            copy_layer(tree::open_root(&before.place.join(BASE))?, tree::open_root(&at)?)?;
            worktree::write_record(place, &worktree::read_record(&before.place)?)?;
        }
        Base::Captured(capture) => {
            prepare()?;
            let captured = worktree::capture_into(&at, root, capture)?;
            worktree::write_record(place, &worktree::Record::of(&captured))?;
        }
    }
    Ok(())
}

/// One name can be used for many trees, so the directory has a mark of the tree.
fn id(name: &Name, root: &Path) -> String {
    let digest = Sha256::digest(root.as_os_str().as_bytes());
    let mark: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}.{mark}")
}

/// The name in front of the mark.
fn name_of(id: &str) -> &str {
    id.rsplit_once('.').map_or(id, |(name, _)| name)
}

/// What the clock of the file systems says, by writing to a file that was made just now, and looking: see [`Began`].
fn now(mut fresh: File) -> io::Result<Began> {
    let tick = tree::stat_of(fresh.as_fd())?.changed;
    fresh.write_all(b"-")?;
    let fine = tree::stat_of(fresh.as_fd())?.changed;
    Ok(Began { tick, fine })
}

/// A directory by a path without links, and the directory. Most paths come without links already; the kernel says so.
fn resolve(path: &Path) -> io::Result<(PathBuf, OwnedFd)> {
    let plain = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    if plain && let Ok(directory) = tree::open_root(path) {
        return Ok((path.components().collect(), directory));
    }
    let path = fs::canonicalize(path)?;
    let directory = tree::open_root(&path)?;
    Ok((path, directory))
}

#[cfg(test)]
mod tests;
