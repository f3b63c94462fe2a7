//! Hearing of names that must not come into being, while the command runs.
//!
//! The kernel tells which names appear in the few directories that matter (inotify(7)); the command has no part in
//! this and is not held up by it. Names that no rule speaks of are passed by without a look. For the others the
//! [`Sweeper`] looks at everything at once, by the rules of the end.
//!
//! The answer comes after the event: for a moment the name is there. A command that makes such names again and again
//! is ended, so that there are only so many moments.

use crate::sweep::{LiveSweep, NotSetAside, SweepOutcome, Sweeper};
use polder_facts::Violation;
use polder_facts::git::{GitPart, git_part, is_listed_part};
use polder_plan::Plan;
use polder_policy::WorkspaceMode;
use polder_sys::inotify::{NameEvent, NameWatch, WatchedEvents};
use polder_sys::repository::GitPlace;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often one name is set aside before the run is ended, and all names together.
const ONE_NAME_MAX: u32 = 8;
const ALL_NAMES_MAX: u32 = 64;
/// Directories that are watched at one time.
const DIRECTORIES_MAX: usize = 4096;
/// Looks in a row, each of which can find new directories.
const LOOKS_MAX: u32 = 16;
/// How long polder leaves events in the queue after names that no rule speaks of. Being woken for each of many files
/// would slow the command down.
const REST: Duration = Duration::from_millis(2);
/// How long polder waits before it looks again at what can change without an event: a file by another hard link or by
/// mmap(2), repositories that an index names.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The share of a processor that repeated looks may take, as a divisor.
const PACE: u32 = 20;

/// Why a run does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamesEnd {
    /// The command makes a name again and again.
    Again {
        /// The host's path.
        path: PathBuf,
        /// How often it was set aside.
        count: u32,
    },
    /// Something could not be set aside, or not be looked at.
    Unmoved(NotSetAside),
}

/// What was done about new names.
#[derive(Default)]
pub(crate) struct Answered {
    pub(crate) violations: Vec<Violation>,
    pub(crate) end: Option<NamesEnd>,
}

/// A watched directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Watched {
    path: PathBuf,
    /// Names that a rule speaks of, in small letters: a file system may not tell them apart.
    names: BTreeSet<OsString>,
    /// Which part of a git dir it is.
    git: Option<PathBuf>,
}

/// Whether an event asks for a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    Never,
    Later,
    Now,
}

/// The watch of one run.
pub(crate) struct NewNames {
    plan: Arc<Plan>,
    watch: NameWatch,
    directories: BTreeMap<i32, Watched>,
    counts: BTreeMap<PathBuf, u32>,
    total: u32,
    /// Until when events stay in the queue.
    rest: Option<Instant>,
    /// When to look without an event.
    next: Option<Instant>,
}

impl NewNames {
    /// Watches before the command can start; nothing where the plan lists no name, or where changes are kept apart.
    pub(crate) fn begin(plan: &Arc<Plan>) -> io::Result<Option<Self>> {
        let files = &plan.files;
        let is_direct = plan.workspace.value.mode == WorkspaceMode::Direct;
        if !is_direct || files.swept.is_empty() && files.git.trees.is_empty() {
            return Ok(None);
        }
        let mut names = Self {
            plan: Arc::clone(plan),
            watch: NameWatch::new()?,
            directories: BTreeMap::new(),
            counts: BTreeMap::new(),
            total: 0,
            rest: None,
            next: None,
        };
        let known = files.git.before.dirs.iter().flat_map(|dir| {
            let parts = ["", "hooks", "info", "modules", "worktrees"].map(PathBuf::from);
            parts.map(|below| GitPlace { path: dir.path.join(&below), below })
        });
        names.add(known.collect())?;
        Ok(Some(names))
    }

    /// What to wait for.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.rest.is_none().then(|| self.watch.fd())
    }

    /// When to come back without an event.
    pub(crate) fn due(&self) -> Option<Instant> {
        [self.rest, self.next].into_iter().flatten().min()
    }

    /// Takes what the kernel told, and answers it.
    pub(crate) fn answer(&mut self, sweeper: &Sweeper) -> io::Result<Answered> {
        let now = Instant::now();
        if self.rest.is_some_and(|rest| now < rest) {
            return Ok(Answered::default());
        }
        let events = self.watch.read()?;
        let is_due = self.next.is_some_and(|next| now >= next);
        let urgency = events.iter().map(|event| self.urgency(event)).max().unwrap_or(Urgency::Never);
        if urgency == Urgency::Now || is_due {
            return self.look(sweeper);
        }
        self.rest = (!events.is_empty()).then_some(now + REST);
        if urgency == Urgency::Later {
            self.next.get_or_insert(now + LOOK_AGAIN);
        }
        Ok(Answered::default())
    }

    fn look(&mut self, sweeper: &Sweeper) -> io::Result<Answered> {
        let begun = Instant::now();
        let mut answered = Answered::default();
        let mut is_judged = false;
        for _ in 0..LOOKS_MAX {
            let LiveSweep { outcome, places, is_judged: judged } = match sweeper.look() {
                Ok(look) => look,
                // A name went away during the look, which an event tells as well.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let path = self.plan.files.workspace_host().map(Path::to_owned).unwrap_or_default();
                    let reason = format!("what came into being cannot be looked at: {error}");
                    answered.end = Some(NamesEnd::Unmoved(NotSetAside { path, reason }));
                    break;
                }
            };
            is_judged = judged;
            let SweepOutcome { violations, paths, not_set_aside } = outcome;
            let is_clean = violations.is_empty();
            answered.violations.extend(violations);
            answered.end = not_set_aside.into_iter().next().map(NamesEnd::Unmoved);
            for path in paths {
                let again = self.count(path);
                answered.end = answered.end.take().or(again);
            }
            // What was made in a new directory before it was watched is found by the next look.
            if answered.end.is_some() || !self.add(places)? && is_clean {
                break;
            }
        }
        let now = Instant::now();
        let took = now - begun;
        self.rest = Some(now + REST.max(took));
        self.next = is_judged.then(|| now + LOOK_AGAIN.max(took * PACE));
        Ok(answered)
    }

    fn count(&mut self, path: PathBuf) -> Option<NamesEnd> {
        self.total += 1;
        let count = self.counts.entry(path.clone()).or_default();
        *count += 1;
        (*count >= ONE_NAME_MAX || self.total >= ALL_NAMES_MAX).then_some(NamesEnd::Again { path, count: *count })
    }

    /// Watches the directories of the plan, and these. Says whether one of them is new.
    fn add(&mut self, places: Vec<GitPlace>) -> io::Result<bool> {
        let mut wanted = wanted(&self.plan);
        for GitPlace { path, below } in places {
            let entry = wanted.entry(path).or_default();
            entry.git = Some(below);
        }
        let mut is_new = false;
        for (path, mut watched) in wanted {
            let events = if watched.git.is_some() { WatchedEvents::Content } else { WatchedEvents::Names };
            let shown = self.plan.files.shown.iter().map(|shown| shown.host.as_path());
            let trees = shown.filter(|tree| path.starts_with(tree));
            let Some(tree) = trees.max_by_key(|tree| tree.components().count()) else { continue };
            let below = path.strip_prefix(tree).unwrap_or(Path::new(""));
            let Some(watch) = self.watch.add(tree, below, events)? else { continue };
            watched.path.clone_from(&path);
            is_new |= self.directories.insert(watch, watched).is_none();
        }
        if self.directories.len() > DIRECTORIES_MAX {
            return Err(io::Error::other(format!("more than {DIRECTORIES_MAX} directories of repositories")));
        }
        Ok(is_new)
    }

    fn urgency(&self, event: &NameEvent) -> Urgency {
        match event {
            NameEvent::Overflow => Urgency::Now,
            NameEvent::Name { watch, name } => {
                self.directories.get(watch).map_or(Urgency::Never, |watched| watched.urgency(name))
            }
        }
    }
}

impl Watched {
    fn urgency(&self, name: &OsStr) -> Urgency {
        if self.names.contains(&name.to_ascii_lowercase()) {
            return Urgency::Now;
        }
        let Some(below) = &self.git else { return Urgency::Never };
        // The directory itself: its mode may have been opened.
        if name.is_empty() {
            return Urgency::Now;
        }
        let below = below.join(name);
        let parts: Vec<String> =
            below.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match git_part(&parts).0 {
            // An index can name another repository.
            GitPart::Data if parts[0].starts_with("index") || parts[0].starts_with("sharedindex") => Urgency::Later,
            GitPart::Data if self.path.join(name).is_symlink() => Urgency::Now,
            GitPart::Data | GitPart::State(_) => Urgency::Never,
            GitPart::Obeyed if parts.last().is_some_and(|name| name.ends_with(".sample")) => Urgency::Never,
            // A directory with names of both kinds.
            GitPart::Obeyed if parts == ["info"] => Urgency::Now,
            GitPart::Obeyed if !is_listed_part(&parts) => Urgency::Never,
            GitPart::Obeyed | GitPart::Config | GitPart::Pointer | GitPart::Container => Urgency::Now,
        }
    }
}

/// The directories in which names of the plan would be.
fn wanted(plan: &Plan) -> BTreeMap<PathBuf, Watched> {
    let mut wanted: BTreeMap<PathBuf, Watched> = BTreeMap::new();
    let mut add = |directory: &Path, name: &OsStr| {
        let watched = wanted.entry(directory.to_owned()).or_default();
        watched.names.insert(name.to_ascii_lowercase());
    };
    for swept in &plan.files.swept {
        let path = swept.tree.as_path().join(&swept.relative);
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { continue };
        add(directory, name);
        swept.only_with.iter().for_each(|other| add(directory, OsStr::new(other)));
    }
    let git = &plan.files.git;
    if let Some(root) = git.trees.first() {
        for name in [".git", "HEAD", "commondir", "objects", "refs"] {
            add(root, OsStr::new(name));
        }
    }
    for missing in &git.before.missing {
        // The name that comes next on the way to it.
        let next = missing.ancestors().find(|path| path.parent().is_some_and(Path::is_dir));
        if let Some((directory, name)) = next.and_then(|next| next.parent().zip(next.file_name())) {
            add(directory, name);
        }
    }
    wanted
}

#[cfg(test)]
mod tests;
