//! What the tree had at the paths of a layer when the run ended that wrote them.
//!
//! The kernel notes the origin of most files that it copies into a layer, but not of one that the command removed and wrote
//! again, nor of one that has several names. When the tree has nothing at such a path, either the command made it, or the
//! host removed it since: at a review nobody can tell any more, and when the run ended it was still to be seen.

use crate::about::{Began, Mode};
use crate::compare::{CHANGES_MAX, DEPTH_MAX, at};
use crate::git;
use crate::read::is_whiteout;
use crate::relative::Relative;
use crate::sides::Sides;
use crate::workspace::Workspace;
use polder_sys::tree::{self, Kind, Moment, Stat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

const FILE: &str = "sighted.json";

/// What the tree had at a path of the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sighted {
    /// Something; and the number of the directory that it was, where it is the one that the command saw.
    There { directory: Option<u64> },
    /// Nothing, and the host did nothing to the directory while the command ran: the command made it.
    Nothing,
    /// Nothing, but the host made or removed names beside it while the command ran, and this may have been one of them.
    Unsure,
}

/// All paths that somebody looked at. What lies in a directory that the tree did not have is not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sightings(BTreeMap<Relative, Sighted>);

impl Sightings {
    pub(crate) fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// What was seen at a path, if anybody looked.
    pub(crate) fn of(&self, path: &Relative) -> Option<Sighted> {
        if let Some(own) = self.0.get(path) {
            return Some(*own);
        }
        let mut above = path.parent_below_root();
        while let Some(directory) = above {
            match self.0.get(&directory) {
                // In what was not there, nothing was. Doubt about the whole is told where the whole begins.
                Some(Sighted::Nothing | Sighted::Unsure) => return Some(Sighted::Nothing),
                Some(Sighted::There { .. }) => return None,
                None => above = directory.parent_below_root(),
            }
        }
        None
    }

    /// What was seen at this very path.
    pub(crate) fn at(&self, path: &Relative) -> Option<Sighted> {
        self.0.get(path).copied()
    }

    /// What earlier runs saw; none where their note was not written to its end, as after a power failure.
    pub(crate) fn read(place: &Path) -> io::Result<Option<Self>> {
        match fs::read(place.join(FILE)) {
            Ok(text) => {
                let entries: Option<Vec<(Relative, Sighted)>> = serde_json::from_slice(&text).ok();
                Ok(entries.map(|entries| Self(entries.into_iter().collect())))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(Self::none())),
            Err(error) => Err(error),
        }
    }

    /// Not waited for: a review can do without, and says so.
    fn write(&self, place: &Path) -> io::Result<()> {
        let aside = place.join(format!("{FILE}.new"));
        let written = fs::write(&aside, serde_json::to_vec(&self.0.iter().collect::<Vec<_>>())?);
        written.and_then(|()| fs::rename(&aside, place.join(FILE))).inspect_err(|_| drop(fs::remove_file(&aside)))
    }
}

/// What is known about one workspace is known about another that begins with its changes.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::copy(from.join(FILE), to.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map(drop),
    }
}

impl Workspace {
    /// Looks at the tree wherever the layer has something that nobody looked at yet, and remembers it. The cost is that of
    /// the change. A copy needs none of this: it is still there to be compared with.
    pub(crate) fn sight(&self, since: Began) -> io::Result<()> {
        if self.about.mode != Mode::Cow {
            return Ok(());
        }
        let sides = self.sides().map_err(io::Error::other)?;
        let Sides { layer, tree, base: _, root: _ } = &sides;
        let (earlier, since) = match Sightings::read(&self.place)? {
            Some(earlier) => (earlier, since),
            // Nobody knows who wrote what, so all of it is judged from the beginning on.
            None => (Sightings::none(), self.about.began),
        };
        let since = since.moment_on(tree::file_system(tree.as_fd())?);
        let mut look = Look { since, earlier: &earlier, seen: BTreeMap::new() };
        look.directory(layer.as_fd(), tree.as_fd(), None, 0)?;
        let seen = Sightings(look.seen);
        git::note_run(&self.place, &sides, since)?;
        if seen == earlier { Ok(()) } else { seen.write(&self.place) }
    }
}

struct Look<'a> {
    /// When whoever wrote what is new in the layer began to look at the tree.
    since: Moment,
    earlier: &'a Sightings,
    seen: BTreeMap<Relative, Sighted>,
}

impl Look<'_> {
    /// One directory that layer and tree both have.
    fn directory(
        &mut self,
        upper: BorrowedFd<'_>,
        lower: BorrowedFd<'_>,
        path: Option<&Relative>,
        depth: usize,
    ) -> io::Result<()> {
        // A name that came or went since then left its stamp, which nobody can set.
        let absent = if tree::stat_of(lower)?.changed < self.since { Sighted::Nothing } else { Sighted::Unsure };
        for name in tree::names(upper)? {
            let Ok(own) = tree::stat(upper, &name) else { continue };
            if self.seen.len() == CHANGES_MAX {
                return Ok(());
            }
            let here = at(path, &name);
            let noted = self.earlier.0.get(&here).copied();
            let is_directory = |stat: &Stat| stat.kind == Kind::Directory;
            if let Some(noted) = noted.filter(|_| !is_directory(&own)) {
                self.seen.insert(here, noted);
                continue;
            }
            let there = tree::stat(lower, &name).ok();
            let both = is_directory(&own) && there.as_ref().is_some_and(is_directory);
            // What cannot be entered here cannot be reviewed or applied either.
            let enter = || {
                let deeper = tree::open_below(upper, Path::new(&name)).ok()?;
                Some((deeper, tree::open_below(lower, Path::new(&name)).ok()?))
            };
            let entered = if both && depth < DEPTH_MAX { enter() } else { None };
            if let Some((deeper, below)) = &entered {
                self.directory(deeper.as_fd(), below.as_fd(), Some(&here), depth + 1)?;
            } else if is_directory(&own) {
                // The tree has no such directory at this moment, or it is closed: what was seen in it is seen no less.
                let below = self.earlier.0.range(here.clone()..).skip_while(|(path, _)| **path == here);
                let below = below.take_while(|(path, _)| path.is_within(&here));
                self.seen.extend(below.map(|(path, sighted)| (path.clone(), *sighted)));
            }
            let number = |there: Stat| (is_directory(&there) && there.changed < self.since).then_some(there.inode);
            let now = match (noted, there) {
                // The first look counts: what came there later, the command did not see when it began to write there.
                (Some(noted), _) => noted,
                (None, Some(there)) => Sighted::There { directory: number(there) },
                // Nothing was deleted where nothing is.
                (None, None) if is_whiteout(&own) => continue,
                (None, None) => absent,
            };
            self.seen.insert(here, now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
