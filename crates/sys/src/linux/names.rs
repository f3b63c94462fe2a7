//! Other names of what a policy masks: hard links, and mounts that show a directory twice. Reads; changes nothing.
//!
//! A mask is a mount on one path. An inode that has a second path in what a command is shown is not behind it there.

use super::facts::{WALK_MAX, WalkError};
use polder_facts::{HardLinked, OtherLink, TwinMount};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, DirEntry, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a mask keeps from a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MaskedFor {
    /// Changing: a hard link below another mask of either kind is no way around it.
    Writing,
    /// Reading: only a hard link below another mask of this kind is no way around it.
    Reading,
}

/// A host path that a command is shown with everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownTree {
    /// Where it is.
    pub path: PathBuf,
    /// Whether the command may write there.
    pub written: bool,
}

/// An inode that has more hard links than were found so far.
struct Inode {
    /// Which masked directory it was found in.
    directory: PathBuf,
    file: PathBuf,
    links: u64,
    /// How many of them masks of every kind cover, and how many masks against reading.
    covered: u64,
    hidden: u64,
    /// A name that is masked against writing alone.
    readable: Option<PathBuf>,
}

/// Files of masked directories that have a hard link in a shown tree which no mask covers.
///
/// Hard links are counted first: a file all of whose links are masked, and the usual file with one link, end the
/// question without a look at the trees. The trees are searched only for the others, as `cp -al` and package stores
/// make them: a link to a store that is not shown is no way around a mask.
pub fn hard_links(masked: &BTreeMap<PathBuf, MaskedFor>, trees: &[ShownTree]) -> Result<Vec<HardLinked>, WalkError> {
    let mut inodes = BTreeMap::new();
    let mut seen = 0;
    for (directory, purpose) in masked {
        // One that lies in another one is met there.
        if !directory.ancestors().skip(1).any(|above| masked.contains_key(above)) {
            count(masked, directory, *purpose, &mut inodes, &mut seen)?;
        }
    }
    let mut found = Vec::new();
    inodes.retain(|_, inode: &mut Inode| {
        let Inode { directory, file, links, covered, hidden, readable } = inode;
        let open = if *hidden > 0 { hidden < links } else { covered < links };
        let known = readable.clone().filter(|_| open && *hidden > 0);
        let is_known = known.is_some();
        let (directory, file) = (directory.clone(), file.clone());
        found.extend(known.map(|other| HardLinked { directory, file, other: OtherLink::At(other) }));
        open && !is_known
    });
    search(masked, trees, inodes, &mut found)?;
    found.sort();
    Ok(found)
}

/// Walks a masked directory and notes every inode in it that has several links.
fn count(
    masked: &BTreeMap<PathBuf, MaskedFor>,
    top: &Path,
    purpose: MaskedFor,
    inodes: &mut BTreeMap<(u64, u64), Inode>,
    seen: &mut usize,
) -> Result<(), WalkError> {
    let mut open = vec![(top.to_owned(), purpose)];
    while let Some((directory, purpose)) = open.pop() {
        let listed = match entries(&directory) {
            // Its files cannot be counted: SECURITY.md says so.
            Err(WalkError::Unlisted(_, error)) if error.kind() == io::ErrorKind::PermissionDenied => continue,
            listed => listed?,
        };
        for entry in listed {
            let (path, metadata) = looked_at(&directory, &entry?)?;
            *seen += 1;
            if *seen > WALK_MAX {
                return Err(WalkError::TooLarge(top.to_owned()));
            }
            let Some(metadata) = metadata else { continue };
            let purpose = masked.get(&path).copied().unwrap_or(purpose).max(purpose);
            if metadata.is_dir() {
                open.push((path, purpose));
            } else if metadata.nlink() > 1 {
                let inode = inodes.entry((metadata.dev(), metadata.ino())).or_insert_with(|| Inode {
                    directory: top.to_owned(),
                    file: path.clone(),
                    links: metadata.nlink(),
                    covered: 0,
                    hidden: 0,
                    readable: None,
                });
                inode.covered += 1;
                match purpose {
                    MaskedFor::Writing => inode.readable = Some(path),
                    MaskedFor::Reading => {
                        inode.hidden += 1;
                        // The fault names the file that has to be hidden.
                        (inode.directory, inode.file) = (top.to_owned(), path);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Looks for the inodes outside of the masked directories.
fn search(
    masked: &BTreeMap<PathBuf, MaskedFor>,
    trees: &[ShownTree],
    mut inodes: BTreeMap<(u64, u64), Inode>,
    found: &mut Vec<HardLinked>,
) -> Result<(), WalkError> {
    let (mut seen, mut been) = (0_usize, BTreeSet::new());
    let mut open: Vec<PathBuf> = trees.iter().map(|tree| tree.path.clone()).collect();
    while let Some(directory) = open.pop().filter(|_| !inodes.is_empty()) {
        if !been.insert(directory.clone()) {
            continue;
        }
        let can_be_opened = trees.iter().any(|tree| tree.written && directory.starts_with(&tree.path));
        let listed = match entries(&directory) {
            // In a tree that the command only reads it cannot give itself the right to enter.
            Err(WalkError::Unlisted(_, error)) if error.kind() == io::ErrorKind::PermissionDenied && !can_be_opened => {
                continue;
            }
            listed => listed?,
        };
        for entry in listed {
            let (path, metadata) = looked_at(&directory, &entry?)?;
            seen += 1;
            if seen > WALK_MAX {
                let unsearched = OtherLink::Unsearched { entries_max: WALK_MAX };
                found.extend(inodes.into_values().map(|Inode { directory, file, .. }| HardLinked {
                    directory,
                    file,
                    other: unsearched.clone(),
                }));
                return Ok(());
            }
            let Some(metadata) = metadata else { continue };
            if metadata.is_dir() {
                if !masked.contains_key(&path) {
                    open.push(path);
                }
            } else if metadata.nlink() > 1 {
                let is_written = trees.iter().any(|tree| tree.written && path.starts_with(&tree.path));
                let inode = (metadata.dev(), metadata.ino());
                // A name that can only be read is no way around a protection.
                let is_way = inodes.get(&inode).is_some_and(|inode| is_written || inode.hidden > 0);
                if let Some(Inode { directory, file, .. }) = is_way.then(|| inodes.remove(&inode)).flatten() {
                    found.push(HardLinked { directory, file, other: OtherLink::At(path) });
                }
            }
        }
    }
    Ok(())
}

/// The entries of a directory. Another user's directory that the caller may not list has none that the caller could
/// have linked; one of the caller's own is an error, because the command could give itself the right.
fn entries(directory: &Path) -> Result<impl Iterator<Item = Result<DirEntry, WalkError>>, WalkError> {
    let listed = match fs::read_dir(directory) {
        Ok(listed) => Some(listed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && is_anothers(directory) => None,
        Err(error) => return Err(WalkError::Unlisted(directory.to_owned(), error)),
    };
    let directory = directory.to_owned();
    Ok(listed.into_iter().flatten().map(move |entry| entry.map_err(|e| WalkError::Unlisted(directory.clone(), e))))
}

fn is_anothers(directory: &Path) -> bool {
    let caller = super::wait::effective_ids().0;
    fs::symlink_metadata(directory).map_or(true, |metadata| metadata.uid() != caller)
}

/// One entry, not followed. One that went away meanwhile is none.
fn looked_at(directory: &Path, entry: &DirEntry) -> Result<(PathBuf, Option<Metadata>), WalkError> {
    match entry.metadata() {
        Ok(metadata) => Ok((entry.path(), Some(metadata))),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound) => Ok((entry.path(), None)),
        Err(error) => Err(WalkError::Unlisted(directory.to_owned(), error)),
    }
}

/// One line of the table of mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    /// `major:minor` of the file system.
    device: Vec<u8>,
    /// Which directory or file of the file system it shows.
    root: PathBuf,
    /// Where.
    at: PathBuf,
}

/// The table of mounts as this process sees it.
#[derive(Clone, Debug)]
pub struct MountTable(Vec<Mount>);

impl MountTable {
    /// Reads it.
    pub fn read() -> io::Result<Self> {
        // It has no size of its own; without a guess it is read in small pieces.
        let mut table = Vec::with_capacity(1 << 14);
        File::open("/proc/self/mountinfo")?.read_to_end(&mut table)?;
        Ok(Self::parse(&table))
    }

    /// The third field is the device, the fourth the root, the fifth the mount point, with blanks and backslashes as
    /// octal numbers; see proc_pid_mountinfo(5).
    fn parse(table: &[u8]) -> Self {
        let path = |field: &[u8]| PathBuf::from(OsString::from_vec(unescaped(field)));
        let mounts = table.split(|byte| *byte == b'\n').filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ').skip(2);
            let (device, root, at) = (fields.next()?, fields.next()?, fields.next()?);
            Some(Mount { device: device.to_owned(), root: path(root), at: path(at) })
        });
        Self(mounts.collect())
    }

    /// Where something is mounted below a directory, in order.
    pub fn below(&self, root: &Path) -> Vec<PathBuf> {
        let places = self.0.iter().map(|mount| &mount.at);
        let below: BTreeSet<&PathBuf> = places.filter(|at| *at != root && at.starts_with(root)).collect();
        below.into_iter().cloned().collect()
    }

    /// Pairs of places in these trees that show the same directory or file. Both of a pair come first once.
    pub fn twins(&self, trees: &[ShownTree]) -> Vec<TwinMount> {
        let is_same = |one: &Path, other: &Path| match (fs::symlink_metadata(one), fs::symlink_metadata(other)) {
            (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
            // A place that cannot be looked at lies below another mount, or is out of the caller's reach.
            _ => false,
        };
        let mut twins = self.pairs(trees);
        twins.retain(|twin| is_same(&twin.base, &twin.at));
        twins.into_iter().collect()
    }

    fn pairs(&self, trees: &[ShownTree]) -> BTreeSet<TwinMount> {
        let mut views: BTreeMap<(&[u8], PathBuf), BTreeSet<PathBuf>> = BTreeMap::new();
        for ShownTree { path: tree, .. } in trees {
            // Of several mounts at one place, the last one is in view.
            let holders = self.0.iter().filter(|mount| tree.starts_with(&mount.at));
            if let Some(holder) = holders.max_by_key(|mount| mount.at.components().count())
                && let Ok(below) = tree.strip_prefix(&holder.at)
            {
                views.entry((&holder.device, joined(&holder.root, below))).or_default().insert(tree.clone());
            }
            for mount in self.0.iter().filter(|mount| mount.at != *tree && mount.at.starts_with(tree)) {
                views.entry((&mount.device, mount.root.clone())).or_default().insert(mount.at.clone());
            }
        }
        let mut pairs = BTreeSet::new();
        for ((device, root), places) in &views {
            for above in root.ancestors() {
                let Ok(below) = root.strip_prefix(above) else { continue };
                for holder in views.get(&(*device, above.to_owned())).into_iter().flatten() {
                    let base = joined(holder, below);
                    for at in places.iter().filter(|at| **at != base) {
                        pairs.insert(TwinMount { base: base.clone(), at: at.clone() });
                        pairs.insert(TwinMount { base: at.clone(), at: base.clone() });
                    }
                }
            }
        }
        pairs
    }
}

/// `Path::join` would add a slash for an empty rest, which is not the same path to a file.
fn joined(path: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { path.to_owned() } else { path.join(below) }
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, more)) = rest.split_first() {
        let number = more.get(..3).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match number.filter(|_| *first == b'\\') {
            Some(byte) => {
                plain.push(byte);
                rest = &more[3..];
            }
            None => {
                plain.push(*first);
                rest = more;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests;
