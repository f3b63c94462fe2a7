//! Which ordinary names of the tree are reached by those that are held back: by links that the tree has already, and by what
//! git's configuration names. A change there is executed as the held name would be, so it is held as well.
//!
//! The tree is not searched: it is looked at where changes are, and above them.

mod config;

use crate::change::Change;
use crate::content::read_bounded;
use crate::handoff::{Content, Seen, held_back};
use crate::read::{is_absent, open_host_file};
use crate::relative::Relative;
use crate::sides::Sides;
use polder_sys::tree::{self, Kind};
use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const BY_LINK: &str = "a link of the tree leads to it from a name that the host executes";
const BY_GIT: &str = "git's configuration names it, and git runs or follows it";
const BARE: &str = "it lies in a bare repository, from which git takes commands";

/// Links that are followed one after the other; the kernel follows as many.
const LINKS_MAX: usize = 40;
/// How far below a held name links are looked for: `.git/hooks/pre-commit`.
const LEVELS: usize = 2;
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// Parts of a repository in which nothing is executed, and which are large.
const LARGE: [&str; 4] = ["objects", "refs", "logs", "lfs"];

/// Places that are held although their names say nothing.
#[derive(Debug)]
pub(crate) struct Reached(Vec<(Relative, &'static str)>);

impl Reached {
    /// Why a path is held, if it is: it is such a place, lies in one, or is a link by which one becomes another.
    pub(crate) fn why(&self, path: &Relative, link: bool) -> Option<&'static str> {
        let holds = |place: &Relative| path.is_within(place) || (link && place.is_within(path));
        self.0.iter().find(|(place, _)| holds(place)).map(|(_, why)| *why)
    }
}

/// Looks where these changes are, and above them.
pub(crate) fn reached(sides: &Sides, root: &Path, changes: &[Change]) -> io::Result<Reached> {
    let mut search = Search { tree: sides.tree.as_fd(), root, found: Vec::new() };
    let mut directories = BTreeSet::from([PathBuf::new()]);
    for path in changes.iter().flat_map(Change::paths) {
        let mut above = path.parent();
        while directories.insert(above.to_owned()) {
            above = above.parent().unwrap_or(Path::new(""));
        }
        search.bare(path)?;
    }
    for directory in &directories {
        search.directory(directory, 0)?;
        search.configuration(directory)?;
    }
    Ok(Reached(search.found))
}

struct Search<'a> {
    tree: BorrowedFd<'a>,
    root: &'a Path,
    found: Vec<(Relative, &'static str)>,
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

    /// Where a path leads from a directory: every link on the way, and its end. What leads out of the tree cannot be
    /// changed by an apply.
    fn follow(&mut self, from: &Path, target: &OsStr, why: &'static str) -> io::Result<()> {
        let mut here = from.to_owned();
        let mut rest: VecDeque<OsString> = VecDeque::new();
        let mut next = Some(target.to_owned());
        let mut links = 0;
        loop {
            if let Some(target) = next.take() {
                let mut inside = Path::new(&target);
                if inside.is_absolute() {
                    let Ok(below) = inside.strip_prefix(self.root) else { return Ok(()) };
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
                        return Ok(());
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
                    return Ok(());
                }
                next = link;
            } else {
                here.push(part);
            }
        }
        self.found.extend(Relative::new(&here).ok().map(|path| (path, why)));
        Ok(())
    }

    /// What the configuration of a repository in this directory names.
    fn configuration(&mut self, path: &Path) -> io::Result<()> {
        let git = path.join(".git");
        let Some(opened) = self.open(&git)? else { return Ok(()) };
        let read =
            open_host_file(opened.as_fd(), OsStr::new("config")).and_then(|file| read_bounded(&file, CONFIG_BYTES_MAX));
        // One that cannot be read is none that git follows.
        let Ok(Some(text)) = read else { return Ok(()) };
        for named in config::named(&text) {
            let (from, place) = match &named {
                config::Named::BesideConfiguration(place) => (git.as_path(), place),
                config::Named::InTree(place) => (path, place),
            };
            self.follow(from, OsStr::from_bytes(place), BY_GIT)?;
        }
        Ok(())
    }

    /// A repository without a tree, whatever its directory is called.
    fn bare(&mut self, path: &Relative) -> io::Result<()> {
        let parent = path.parent();
        let place = match path.name().as_bytes() {
            b"config" => parent,
            _ if parent.file_name() == Some(OsStr::new("hooks")) => parent.parent().unwrap_or(Path::new("")),
            _ => return Ok(()),
        };
        let Some(opened) = self.open(place)? else { return Ok(()) };
        let has = |name: &str| tree::stat(opened.as_fd(), OsStr::new(name)).is_ok();
        if has("HEAD") && has("objects") {
            self.found.push((path.clone(), BARE));
        }
        Ok(())
    }
}
