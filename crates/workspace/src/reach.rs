//! Which ordinary names of the tree are reached by those that are held back: by links that the tree has already, and by what
//! git's configuration names. A change there is executed as the held name would be, so it is held as well.
//!
//! The tree is not searched: it is looked at where changes are, and above them.

use crate::change::Change;
use crate::content::read_bounded;
use crate::handoff::{Content, Seen, held_back};
use crate::read::{is_absent, open_host_file};
use crate::relative::Relative;
use crate::sides::Sides;
use polder_facts::git::{GitFacts, Named, named};
use polder_sys::facts::linked_worktree;
use polder_sys::repository::survey;
use polder_sys::tree::{self, Kind};
use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const BY_LINK: &str = "a link of the tree leads to it from a name that the host executes";
const BY_GIT: &str = "git's configuration names it, and git runs or follows it";
const BY_CARGO: &str = "the manifest names it as build script, which runs when the project is only checked";

/// Links that are followed one after the other; the kernel follows as many.
const LINKS_MAX: usize = 40;
/// How far below a held name links are looked for: `.git/hooks/pre-commit`.
const LEVELS: usize = 2;
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// Configurations of one repository, with what they include.
const CONFIGS_MAX: usize = 64;
/// Parts of a repository in which nothing is executed, and which are large.
const LARGE: [&str; 4] = ["objects", "refs", "logs", "lfs"];

/// Places that are held although their names say nothing.
#[derive(Debug)]
pub(crate) struct Reached {
    places: Vec<(Relative, &'static str)>,
    /// Files that a word names, by themselves: a directory of that name is another matter.
    files: BTreeSet<Relative>,
}

impl Reached {
    /// Why a path is held, if it is: it is such a place, lies in one, or is a link by which one becomes another.
    pub(crate) fn why(&self, path: &Relative, link: bool) -> Option<&'static str> {
        let holds = |place: &Relative| path.is_within(place) || (link && place.is_within(path));
        let held = self.places.iter().find(|(place, _)| holds(place)).map(|(_, why)| *why);
        held.or_else(|| self.files.contains(path).then_some(BY_GIT))
    }
}

/// Looks where these changes are, and above them.
pub(crate) fn reached(sides: &Sides, root: &Path, changes: &[Change]) -> io::Result<Reached> {
    let mut search = Search { tree: sides.tree.as_fd(), root, found: Vec::new(), files: BTreeSet::new() };
    let mut directories = BTreeSet::from([PathBuf::new()]);
    for path in changes.iter().flat_map(Change::paths) {
        let mut above = path.parent();
        while directories.insert(above.to_owned()) {
            above = above.parent().unwrap_or(Path::new(""));
        }
    }
    for directory in &directories {
        search.directory(directory, 0)?;
        search.configuration(directory)?;
        search.build_script(directory)?;
    }
    search.surveyed()?;
    let Search { found, files, .. } = search;
    Ok(Reached { places: found, files })
}

struct Search<'a> {
    tree: BorrowedFd<'a>,
    root: &'a Path,
    found: Vec<(Relative, &'static str)>,
    files: BTreeSet<Relative>,
}

impl Search<'_> {
    /// A directory of the tree; none where there is none, or where the caller may not look.
    fn open(&self, path: &Path) -> io::Result<Option<OwnedFd>> {
        const ELOOP: i32 = 40;
        match tree::open_below(self.tree, path) {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if is_absent(&error) || error.raw_os_error() == Some(ELOOP) => Ok(None),
            Err(error) => match error.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::CrossesDevices => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Links among the held names of a directory, and a little below those.
    fn directory(&mut self, path: &Path, level: usize) -> io::Result<()> {
        let Some(opened) = self.open(path)? else { return Ok(()) };
        // What leads nowhere need not be judged, and most of a large directory does not.
        for name in tree::ways(opened.as_fd())? {
            let Ok(here) = Relative::new(&path.join(&name)) else { continue };
            let seen = Seen { path: &here, link: true, before: Content::Unknown, after: Content::Unknown };
            if held_back(seen).is_none() {
                continue;
            }
            match tree::stat(opened.as_fd(), &name).map(|stat| stat.kind) {
                Ok(Kind::Symlink) => {
                    let target = tree::read_symlink(opened.as_fd(), &name)?;
                    self.follow(path, &target, BY_LINK)?;
                }
                Ok(Kind::Directory) if level < LEVELS && !LARGE.iter().any(|large| *large == name) => {
                    self.directory(here.as_path(), level + 1)?;
                }
                // Gone meanwhile, closed, or no way to anywhere.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Where a path leads from a directory: every link on the way, and its end, which is given. What leads out of the tree
    /// cannot be changed by an apply.
    fn follow(&mut self, from: &Path, target: &OsStr, why: &'static str) -> io::Result<Option<PathBuf>> {
        let mut here = from.to_owned();
        let mut rest: VecDeque<OsString> = VecDeque::new();
        let mut next = Some(target.to_owned());
        let mut links = 0;
        loop {
            if let Some(target) = next.take() {
                let mut inside = Path::new(&target);
                if inside.is_absolute() {
                    let Ok(below) = inside.strip_prefix(self.root) else { return Ok(None) };
                    (inside, here) = (below, PathBuf::new());
                }
                let parts = inside.as_os_str().as_bytes().split(|byte| *byte == b'/').rev();
                parts.for_each(|part| rest.push_front(OsStr::from_bytes(part).to_owned()));
            }
            let Some(part) = rest.pop_front() else { break };
            match part.as_bytes() {
                b"" | b"." => continue,
                b".." => {
                    if !here.pop() {
                        return Ok(None);
                    }
                    continue;
                }
                _ => {}
            }
            let link = match self.open(&here)? {
                Some(opened) => tree::read_symlink(opened.as_fd(), &part).ok(),
                None => None,
            };
            if link.is_some() {
                self.found.extend(Relative::new(&here.join(&part)).ok().map(|path| (path, why)));
                links += 1;
                if links > LINKS_MAX {
                    return Ok(None);
                }
                next = link;
            } else {
                here.push(part);
            }
        }
        self.found.extend(Relative::new(&here).ok().map(|path| (path, why)));
        Ok(Some(here))
    }

    /// A file of the tree, if it can be read and is not too large.
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let Some(opened) = self.open(parent)? else { return Ok(None) };
        let read = open_host_file(opened.as_fd(), name).and_then(|file| read_bounded(&file, CONFIG_BYTES_MAX));
        // One that cannot be read is none that anybody follows.
        Ok(read.ok().flatten())
    }

    /// What the configuration of a repository in this directory names: of its own, of the one that it shares with others,
    /// and what those include.
    fn configuration(&mut self, path: &Path) -> io::Result<()> {
        let mut repositories: Vec<PathBuf> = self.repository(path)?.into_iter().collect();
        if let Some(own) = repositories.first().cloned()
            && let Some(text) = self.read(&own.join("commondir"))?
        {
            repositories.extend(self.lead(&own, text.trim_ascii())?);
        }
        let files = repositories.iter().flat_map(|own| ["config", "config.worktree"].map(|name| own.join(name)));
        let mut waiting: VecDeque<PathBuf> = files.collect();
        let mut seen = BTreeSet::new();
        while let Some(file) = waiting.pop_front() {
            if seen.len() == CONFIGS_MAX || !seen.insert(file.clone()) {
                continue;
            }
            let Some(text) = self.read(&file)? else { continue };
            for named in named(&text) {
                match &named {
                    Named::BesideConfiguration(place) => {
                        let beside = file.parent().unwrap_or(Path::new(""));
                        waiting.extend(self.follow(beside, OsStr::from_bytes(place), BY_GIT)?);
                    }
                    // What lies in a repository is judged by its place.
                    Named::Repository(_) => {}
                    Named::InTree(place) | Named::Hooks(place) => {
                        drop(self.follow(path, OsStr::from_bytes(place), BY_GIT)?);
                    }
                    Named::Word(word) | Named::Program(word) => {
                        self.files.extend(Relative::new(&path.join(OsStr::from_bytes(word))));
                    }
                }
            }
        }
        Ok(())
    }

    /// The directory of the repository that git finds here: `.git`, or where a link or a file of that name leads.
    fn repository(&mut self, path: &Path) -> io::Result<Option<PathBuf>> {
        let git = path.join(".git");
        if self.open(&git)?.is_some() {
            return Ok(Some(git));
        }
        if let Some(text) = self.read(&git)? {
            let Some(place) = text.strip_prefix(b"gitdir:") else { return Ok(None) };
            return self.lead(path, place.trim_ascii());
        }
        let Some(opened) = self.open(path)? else { return Ok(None) };
        match tree::read_symlink(opened.as_fd(), OsStr::new(".git")) {
            Ok(target) => self.lead(path, target.as_bytes()),
            Err(_) => Ok(None),
        }
    }

    /// Where a path leads, without holding what is there: the names below it say enough.
    fn lead(&mut self, from: &Path, place: &[u8]) -> io::Result<Option<PathBuf>> {
        let before = self.found.len();
        let end = self.follow(from, OsStr::from_bytes(place), BY_GIT);
        self.found.truncate(before);
        end
    }

    /// The build script that a manifest of the tree names, which runs when the project is only checked.
    fn build_script(&mut self, path: &Path) -> io::Result<()> {
        let Some(text) = self.read(&path.join("Cargo.toml"))? else { return Ok(()) };
        let text = String::from_utf8_lossy(&text);
        for line in text.lines() {
            let Some((key, value)) = line.split_once('=') else { continue };
            if matches!(key.trim().trim_matches(['"', '\'']), "build" | "package.build") {
                let named = value.split(['"', '\'']).nth(1).unwrap_or_default();
                self.follow(path, OsStr::new(named), BY_CARGO)?;
            }
        }
        Ok(())
    }

    /// What the repositories of the tree lead to, wherever the changes are: the analysis of `direct`.
    fn surveyed(&mut self) -> io::Result<()> {
        let linked = linked_worktree(self.root);
        let mut trees = vec![self.root.to_owned()];
        trees.extend(linked.into_iter().flat_map(|linked| [linked.common_dir, linked.git_dir]));
        let GitFacts { dirs: _, pointers: _, reached, missing } = survey(&trees)?;
        let below = reached.iter().chain(&missing).filter_map(|path| path.strip_prefix(self.root).ok());
        self.found.extend(below.filter_map(|path| Some((Relative::new(path).ok()?, BY_GIT))));
        Ok(())
    }
}
