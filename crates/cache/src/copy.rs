//! Copying a kept directory as a start for another one. Files, directories and links; nothing that could do more than its
//! content: no set-id bit, no extended attribute, no device, pipe or socket.

use crate::family::{Patience, given_up};
use polder_sys::directory::Directory;
use std::ffi::OsStr;
use std::fs::{FileTimes, Metadata, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::time::Duration;

/// Directories in each other: two descriptors each, and a process has a thousand.
const DEPTH_MAX: u32 = 256;
/// Files and directories of one copy.
const ENTRIES_MAX: u64 = 2_000_000;
/// Bytes of one copy, holes included.
const BYTES_MAX: u64 = 64 << 30;

/// Whether the files keep their owners; only root can give files away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owners {
    Kept,
    Ours,
}

/// What a copy may still take.
struct Budget {
    entries: u64,
    bytes: u64,
}

impl Budget {
    fn take(&mut self, bytes: u64) -> io::Result<()> {
        let left = self.entries.checked_sub(1).zip(self.bytes.checked_sub(bytes));
        let (entries, bytes) = left.ok_or_else(|| io::Error::other("it is too large to be copied"))?;
        *self = Self { entries, bytes };
        Ok(())
    }
}

/// Copies everything in a directory into an empty one.
pub(crate) fn copy(source: &Directory, target: &Directory, owners: Owners, patience: Patience<'_>) -> io::Result<()> {
    Copy { owners, budget: Budget { entries: ENTRIES_MAX, bytes: BYTES_MAX }, patience }.directory(source, target, 0)
}

struct Copy<'a> {
    owners: Owners,
    budget: Budget,
    patience: Patience<'a>,
}

impl Copy<'_> {
    fn directory(&mut self, source: &Directory, target: &Directory, depth: u32) -> io::Result<()> {
        if depth > DEPTH_MAX {
            return Err(io::Error::other("it is too deep to be copied"));
        }
        for name in source.names(usize::try_from(self.budget.entries).unwrap_or(usize::MAX))? {
            if (self.patience)(Duration::ZERO).is_break() {
                return Err(given_up());
            }
            self.entry(source, target, &name, depth)?;
        }
        self.finish(&source.file().metadata()?, target.file())
    }

    fn entry(&mut self, source: &Directory, target: &Directory, name: &OsStr, depth: u32) -> io::Result<()> {
        let found = match source.look(name) {
            Ok(found) => found.metadata()?,
            // Somebody may be at work there, and what is gone is not copied.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if found.is_dir() {
            self.budget.take(0)?;
            target.make(name, 0o700)?;
            return self.directory(&source.enter(name)?, &target.enter(name)?, depth + 1);
        }
        if found.is_symlink() {
            self.budget.take(0)?;
            return target.make_link(name, &source.link_text(name)?);
        }
        if !found.is_file() {
            return Ok(());
        }
        let from = source.read(name)?;
        let metadata = from.metadata()?;
        self.budget.take(metadata.len())?;
        let mut to = target.create(name, 0o600)?;
        io::copy(&mut from.take(metadata.len()), &mut to)?;
        self.finish(&metadata, &to)
    }

    /// Owner, rights and times, in this order: a change of owner takes rights away, and everything takes time.
    fn finish(&self, as_in: &Metadata, file: &std::fs::File) -> io::Result<()> {
        if self.owners == Owners::Kept {
            fchown(file, Some(as_in.uid()), Some(as_in.gid()))?;
        }
        file.set_permissions(Permissions::from_mode(as_in.mode() & 0o777))?;
        file.set_times(FileTimes::new().set_modified(as_in.modified()?).set_accessed(as_in.accessed()?))
    }
}
