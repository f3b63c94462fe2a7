//! One workspace: where its layers are, and whose turn it is.

use crate::about::{About, Began, Keep, Mode};
use crate::leftover;
use crate::lock::{self, Asked, Before, RunLock};
use crate::name::Name;
use crate::project::{self, Part};
use crate::remove::{remove_below, remove_marks, remove_tree};
use crate::store::StoreError;
use crate::worktree::{self, BASE, Record};
use polder_sys::tree::{self, Kind, Moment};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) const ABOUT: &str = "about.json";
pub(crate) const UPPER: &str = "upper";
pub(crate) const WORK: &str = "work";
pub(crate) const JOURNAL: &str = "journal";
/// What git writes to its repository while it answers questions.
const LOOKED_AT: [&str; 2] = ["index", "index.lock"];

/// A workspace of the store.
#[derive(Debug)]
pub struct Workspace {
    pub(crate) about: About,
    /// Its own directory in the store.
    pub(crate) place: PathBuf,
    pub(crate) directory: OwnedFd,
    /// Whether it was begun just now, and not by an earlier run.
    pub(crate) new: bool,
    /// Which of several repositories this is, if it is not the whole.
    pub(crate) part: Option<Part>,
}

/// What became of a workspace with the end of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Whether the command left anything in the layer.
    pub changed: bool,
    /// Whether the workspace is still there.
    pub kept: bool,
}

/// What is mounted: `upper` over `lower`, with `work` for the kernel's own use. All three are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// The tree, which stays as it is.
    pub lower: PathBuf,
    /// What the command changed.
    pub upper: PathBuf,
    /// The kernel's scratch, on the same file system as `upper`.
    pub work: PathBuf,
}

impl Workspace {
    /// What it is called.
    pub fn name(&self) -> &Name {
        &self.about.name
    }

    /// The tree that it is a workspace of.
    pub fn root(&self) -> &Path {
        &self.about.root
    }

    /// How it is kept apart.
    pub fn mode(&self) -> Mode {
        self.about.mode
    }

    /// When its first run began.
    pub fn began(&self) -> Moment {
        self.about.began.tick
    }

    /// The workspace that it branched from.
    pub fn parent(&self) -> Option<&Name> {
        self.about.parent.as_ref()
    }

    /// Its own directory in the store, for whoever must keep it out of a sandbox's view.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// What the layer is laid over: the tree, or the private copy of it that a worktree has.
    pub fn base(&self) -> PathBuf {
        match &self.part {
            Some(part) if self.about.mode == Mode::Worktree => part.whole.join(BASE).join(&part.name),
            Some(_) | None => base_at(&self.place, &self.about.root, self.about.mode),
        }
    }

    /// Where the repositories keep their objects that a worktree borrows, and a mark of what it was made of.
    pub fn borrowed(&self) -> Result<Option<(Vec<PathBuf>, String)>, StoreError> {
        match self.about.mode {
            Mode::Cow => Ok(None),
            Mode::Worktree => {
                let Record { objects, digest } =
                    worktree::read_record(&self.place).map_err(self.fault("read what was copied for"))?;
                Ok(Some((objects, digest)))
            }
        }
    }

    /// What is to be mounted.
    pub fn layers(&self) -> Layers {
        Layers { lower: self.base(), upper: self.place.join(UPPER), work: self.place.join(WORK) }
    }

    /// Takes the workspace for a run, if nobody has it and no apply was interrupted. It is free again when the lock is
    /// dropped or its process has ended.
    pub fn lock_for_run(&self) -> Result<RunLock, StoreError> {
        let lock = self.lock()?;
        match self.interrupted_name() {
            Some(name) => Err(StoreError::Interrupted { name }),
            None => Ok(lock),
        }
    }

    /// Takes the workspace to throw it away. One whose apply was interrupted is half in the tree, and that is settled first,
    /// unless the tree is gone: then there is nothing left to settle.
    pub fn lock_for_discard(&self) -> Result<RunLock, StoreError> {
        let lock = self.lock()?;
        let parts = self.parts()?;
        let stuck = std::iter::once(self).chain(&parts).find(|part| part.has_journal() && !part.is_tree_gone());
        match stuck {
            Some(part) => Err(StoreError::Interrupted { name: part.full_name() }),
            None => Ok(lock),
        }
    }

    /// Whether it was begun just now: what is in it, it began with.
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Whether its name still leads to it: one that somebody discarded before we had the lock is gone.
    pub fn is_there(&self) -> bool {
        let own = tree::stat_of(self.directory.as_fd());
        let named = fs::symlink_metadata(&self.place);
        matches!((own, named), (Ok(own), Ok(named)) if (own.device, own.inode) == (named.dev(), named.ino()))
    }

    pub(crate) fn lock(&self) -> Result<RunLock, StoreError> {
        let directory = self.part.as_ref().map_or(&self.directory, |part| &part.directory);
        match lock::ask(directory.as_fd()).map_err(self.fault("lock"))? {
            Asked::Got(mut lock) => {
                // Nobody looked when it ended, so what it wrote is judged from the beginning on. Without a note, a review is
                // in doubt about more; that is no reason to refuse the workspace.
                if lock.before == Before::Killed && self.sight(self.about.began).is_err() {
                    lock.leave_as_killed();
                }
                Ok(lock)
            }
            Asked::Taken(pid) => Err(StoreError::InUse { name: self.about.name.clone(), pid }),
        }
    }

    /// Whether an apply was interrupted and must be resumed or aborted first.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted_name().is_some()
    }

    /// The name by which an interrupted apply is resumed or aborted, if there is one.
    fn interrupted_name(&self) -> Option<String> {
        if self.has_journal() {
            return Some(self.full_name());
        }
        let journal = |name: &str| tree::stat(self.directory.as_fd(), project::journal(name).as_os_str()).is_ok();
        let project = self.about.projects.iter().find(|one| journal(&one.name))?;
        Some(format!("{} --project {}", self.about.name, project.name))
    }

    fn has_journal(&self) -> bool {
        tree::stat(self.directory.as_fd(), OsStr::new(JOURNAL)).is_ok()
    }

    /// Notes that the run which has the workspace is the only one that will: if it is killed, the next to open the store ends
    /// what it could not.
    pub fn passes(&self, keep: Keep) -> Result<(), StoreError> {
        leftover::pass(&self.place, keep).map_err(self.fault("note the end of"))
    }

    /// Remembers what a run could not see, as glob patterns below the root, beside what earlier runs could not: their
    /// content is not shown by a diff, and no apply touches them.
    pub fn hide(&mut self, patterns: &[String]) -> Result<(), StoreError> {
        let fresh: Vec<String> = patterns.iter().filter(|new| !self.about.hidden.contains(new)).cloned().collect();
        if fresh.is_empty() {
            return Ok(());
        }
        self.about.hidden.extend(fresh);
        self.about.hidden.sort();
        write_about(&self.place, &self.about).map_err(self.fault("write about.json of"))
    }

    /// Makes the kernel's scratch empty. An earlier run left a mark there by which the kernel refuses a layer that was not
    /// written to disk; the layer is what that run left all the same, as long as the machine was up.
    pub fn clear_work(&self) -> Result<(), StoreError> {
        let work =
            tree::open_below(self.directory.as_fd(), Path::new(WORK)).map_err(self.fault("open the scratch of"))?;
        remove_marks(work.as_fd());
        for name in tree::names(work.as_fd()).map_err(self.fault("read the scratch of"))? {
            remove_below(work.as_fd(), &name).map_err(self.fault("clear the scratch of"))?;
        }
        Ok(())
    }

    /// The layer. Its root is the root of the tree inside, so the command can have taken every permission away; it is ours.
    pub(crate) fn open_layer(&self) -> io::Result<OwnedFd> {
        match &self.part {
            None => open_ours(self.directory.as_fd(), UPPER),
            Some(part) => open_ours(open_ours(part.directory.as_fd(), UPPER)?.as_fd(), &part.name),
        }
    }

    /// Whether the command left anything in the layer.
    pub fn is_changed(&self) -> Result<bool, StoreError> {
        if !self.about.projects.is_empty() {
            // What lies beside the projects is nobody's, and yet the command's work.
            let upper = self.open_layer().and_then(|upper| tree::names(upper.as_fd()));
            let upper = upper.map_err(self.fault("read the layer of"))?;
            let beside = upper.iter().any(|name| !self.about.projects.iter().any(|one| name == one.name.as_str()));
            // A directory that cannot be opened is not what it was.
            return Ok(beside || self.parts()?.iter().any(|part| part.is_changed().unwrap_or(true)));
        }
        let look = || -> io::Result<bool> {
            let upper = self.open_layer()?;
            let names = tree::names(upper.as_fd())?;
            match self.about.mode {
                Mode::Cow => Ok(!names.is_empty()),
                // Git writes to its index when somebody only looks; what it keeps of a commit lies elsewhere.
                Mode::Worktree if names.iter().any(|name| name != ".git") => Ok(true),
                Mode::Worktree if names.is_empty() => Ok(false),
                Mode::Worktree => {
                    let git = tree::stat(upper.as_fd(), OsStr::new(".git"))?;
                    if git.kind != Kind::Directory {
                        return Ok(true);
                    }
                    let git = tree::open_below(upper.as_fd(), Path::new(".git"))?;
                    Ok(tree::names(git.as_fd())?.iter().any(|name| !LOOKED_AT.iter().any(|looked| name == looked)))
                }
            }
        };
        look().map_err(self.fault("read the layer of"))
    }

    /// The run is over: the workspace stays or goes. The lock is let go of afterwards, so that nobody meets half of it.
    pub fn end(self, mut lock: RunLock, keep: Keep) -> Result<Ended, StoreError> {
        let changed = self.is_changed()?;
        let kept = match keep {
            Keep::Always => true,
            Keep::Changed => changed || self.is_interrupted(),
            Keep::Never => false,
        };
        if kept {
            leftover::passed(&self.place);
            let noted = if changed { lock.taken().and_then(|taken| self.sight(Began::at(taken))) } else { Ok(()) };
            // The disk is full, for one: a review can do without the note, and tells what it is in doubt about.
            match noted {
                Ok(()) => lock.leave_in_order(),
                Err(_) => lock.leave_as_killed(),
            }
            if self.new {
                // Work that stays can be found again after a power failure.
                let about = tree::open_file(self.directory.as_fd(), OsStr::new(ABOUT));
                about.and_then(|file| file.sync_data()).map_err(self.fault("write about.json of"))?;
            }
        } else {
            self.discard(lock)?;
        }
        Ok(Ended { changed, kept })
    }

    /// Removes it with everything in it. The tree stays as it is.
    pub fn discard(self, lock: RunLock) -> Result<(), StoreError> {
        let name = self.about.name.clone();
        let fault = |source| StoreError::Io { what: "remove", name: name.to_string(), source };
        // Nobody can begin with what is half gone: the new name is not one of a workspace.
        let gone = self.place.with_file_name(leftover::gone(name.as_str()));
        fs::rename(&self.place, &gone).map_err(fault)?;
        leftover::passed(&self.place);
        if let Ok(work) = tree::open_below(self.directory.as_fd(), Path::new(WORK)) {
            remove_marks(work.as_fd());
        }
        let removed = self.remove_usual(&gone).or_else(|_| remove_tree(&gone)).map_err(fault);
        lock.let_go_for_good();
        removed
    }

    /// Removes a workspace in which nothing was changed: what every one has, in a few calls.
    fn remove_usual(&self, place: &Path) -> io::Result<()> {
        for part in [WORK, UPPER] {
            tree::remove_directory(self.directory.as_fd(), OsStr::new(part))?;
        }
        for part in [lock::FILE, ABOUT] {
            tree::remove_file(self.directory.as_fd(), OsStr::new(part))?;
        }
        fs::remove_dir(place)
    }

    pub(crate) fn fault(&self, what: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        let name = self.about.name.to_string();
        move |source| StoreError::Io { what, name, source }
    }
}

/// What the layer of a workspace at this place is laid over.
pub(crate) fn base_at(place: &Path, root: &Path, mode: Mode) -> PathBuf {
    match mode {
        Mode::Cow => root.to_owned(),
        Mode::Worktree => place.join(BASE),
    }
}

/// A directory of the layer that is ours, whatever permissions the command took away from it.
fn open_ours(directory: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    let mode = tree::stat(directory, OsStr::new(name))?.mode;
    if mode & 0o700 != 0o700 {
        tree::change_mode(directory, OsStr::new(name), mode | 0o700)?;
    }
    tree::open_below(directory, Path::new(name))
}

/// Writes `about.json` as a whole, or not at all.
pub(crate) fn write_about(place: &Path, about: &About) -> io::Result<()> {
    let aside = place.join(format!("{ABOUT}.{}", std::process::id()));
    let mut file = File::create(&aside)?;
    file.write_all(about.to_text().as_bytes())?;
    file.sync_data()?;
    fs::rename(aside, place.join(ABOUT))
}
