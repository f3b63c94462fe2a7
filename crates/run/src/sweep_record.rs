//! Records of names that are set aside when a run has ended, for runs that do not come to their end.
//!
//! A run writes down, before its command starts, every name that did not exist then and that a
//! program on the host would obey: `STATE/polder/sweeps`, one file for each run, hidden from every
//! sandbox. The run removes the record when its sweep has succeeded. Whatever else ends it, the
//! record stays, and the next run in the same tree sets the names aside before it reads any
//! configuration, or refuses to start.
//!
//! A record is locked by its run and, by a copy of the descriptor, by the shim: one that can be
//! locked belongs to no process. A record has one hard link for each tree that it speaks of, named
//! after the tree's inode and path. It lists the trees that the command can write as well
//! ([`crate::write_log`]), and lists them first: a shim that sweeps without polder takes the names out behind them.

use crate::write_log::{ObeyedFile, WriteSpan, WrittenTree, add_spans, changed_ns, now_ns, read_spans};
use polder_plan::Swept;
use polder_sys::aside::{TreeState, is_there, set_aside};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The directory of the records, in the directory of what polder keeps.
const DIRECTORY: &str = "sweeps";
/// How often a record is written again because another polder process took it for a dead one's.
const TRIES_MAX: u32 = 8;
/// The fields of an entry.
const FIELDS: usize = 6;
/// The first field of a name that is set aside; a tree that can be written has its kind there.
const SET_ASIDE: &str = "set-aside";

/// Why the files of an earlier run keep this one from starting.
#[derive(Debug, thiserror::Error)]
pub enum LeftoverError {
    /// A file could not be set aside.
    #[error(
        "`{}` came into being during a run that did not set it aside, and cannot be set aside: {reason}\n  \
         remedy: look at the file, then move it away or remove it, and run again",
        path.display()
    )]
    Unmoved {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        reason: String,
    },
    /// A file is there that nothing has looked at yet.
    #[error(
        "`{}` came into being during a run that did not set it aside\n  \
         remedy: look at the file, then move it away or remove it; a run would set it aside",
        path.display()
    )]
    Unswept {
        /// The file.
        path: PathBuf,
    },
    /// A run that has not ended may have written what this one would obey.
    #[error(
        "`{}` came into being while another run works in its tree, and may be written by its command\n  \
         remedy: move the file away, or wait for the end of that run, which sets it aside",
        path.display()
    )]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The command of an earlier run may have written what this one would obey.
    #[error(
        "`{}` was changed while a command in a sandbox could write it\n  \
         remedy: look at the file; then `polder trust` lets it count, `--trust` does for once",
        path.display()
    )]
    Written {
        /// The file.
        path: PathBuf,
    },
    /// The records cannot be read.
    #[error(
        "cannot read `{}`, which says what earlier runs left: {reason}\n  \
         remedy: repair or remove it",
        path.display()
    )]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// The kernel's answer.
        reason: String,
    },
}

/// Whether what earlier runs left is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftoverMode {
    /// It is, because a run follows.
    SetAside,
    /// Nothing is changed.
    Look,
}

/// Where the records of a user are, in the directory of what polder keeps for the user.
pub fn sweep_records_in(kept: &Path) -> PathBuf {
    kept.join(DIRECTORY)
}

/// The record of a run that goes on. Dropped, it stays for the next run.
pub(crate) struct SweepRecord {
    directory: PathBuf,
    names: Vec<PathBuf>,
    file: File,
    entries: Vec<SweptEntry>,
    begin_ns: u128,
}

/// A name that did not exist when its run began, or a tree that its command can write.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SweptEntry {
    tree: PathBuf,
    device: u64,
    inode: u64,
    relative: PathBuf,
    only_with: Vec<String>,
    /// Absent for a name.
    written: Option<WrittenTree>,
}

impl SweepRecord {
    /// Writes down what a run sets aside and which trees its command can write; nothing where there is neither.
    pub(crate) fn begin(
        directory: &Path,
        swept: &[Swept],
        writes: &[(PathBuf, WrittenTree)],
    ) -> io::Result<Option<Self>> {
        if swept.is_empty() && writes.is_empty() {
            return Ok(None);
        }
        check_directory(directory)?;
        let mut entries: Vec<SweptEntry> = Vec::with_capacity(swept.len() + writes.len());
        let names =
            swept.iter().map(|swept| (swept.tree.as_path(), swept.relative.clone(), swept.only_with.clone(), None));
        let trees = writes.iter().map(|(tree, kind)| (tree.as_path(), PathBuf::new(), Vec::new(), Some(*kind)));
        for (tree, relative, only_with, written) in trees.chain(names) {
            let known = entries.iter().find(|entry| entry.tree == tree);
            let (device, inode) = match known {
                Some(entry) => (entry.device, entry.inode),
                None => fs::metadata(tree).map(|found| (found.dev(), found.ino()))?,
            };
            entries.push(SweptEntry { tree: tree.to_owned(), device, inode, relative, only_with, written });
        }
        let (trees, names) = entries.split_at(writes.len());
        let (trees, names) = (encode(trees), encode(names));
        for _ in 0..TRIES_MAX {
            let unnamed = directory.join(format!(".{}", unique(now_ns())));
            let mut file = open_record(&unnamed, OpenOptions::new().create_new(true))?;
            // By the clock of ctimes, which goes by ticks: what the command writes is not earlier.
            let begin_ns = changed_ns(&file.metadata()?);
            let run = unique(begin_ns);
            // Another polder process may take the new file for one that a killed process left.
            if file.try_lock().is_err() || file.metadata()?.nlink() == 0 {
                continue;
            }
            file.write_all(&trees)?;
            file.write_all(&names)?;
            // The shim shares the file offset, and cuts the record there when it has set the names aside.
            file.seek(SeekFrom::Start(trees.len() as u64))?;
            let mut names: Vec<PathBuf> = Vec::new();
            for entry in &entries {
                let name = directory.join(format!("{}{run}", tree_key(&entry.tree, entry.inode)));
                if !names.contains(&name) {
                    fs::hard_link(&unnamed, &name)?;
                    names.push(name);
                }
            }
            fs::remove_file(&unnamed)?;
            return Ok(Some(Self { directory: directory.to_owned(), names, file, entries, begin_ns }));
        }
        Err(io::Error::from(io::ErrorKind::ResourceBusy))
    }

    /// The record for the shim, which holds its lock, too.
    pub(crate) fn share(&self) -> io::Result<OwnedFd> {
        self.file.try_clone().map(Into::into)
    }

    /// Removes the record, when everything is set aside. It stays where the times at which the command could write
    /// cannot be kept: the next run tries again.
    pub(crate) fn end(self) {
        let end_ns = Some(now_ns());
        let spans: Vec<WriteSpan> = self.entries.iter().filter_map(|entry| entry.span(self.begin_ns, end_ns)).collect();
        if self.directory.parent().is_some_and(|kept| add_spans(kept, &spans).is_ok()) {
            remove(&self.file, &self.names);
        }
    }

    /// Sets aside what a launch that failed may have left, and removes the record if that succeeds.
    pub(crate) fn end_unlaunched(self) {
        if self.entries.iter().all(|entry| entry.set_aside(&entry.tree).is_ok()) {
            self.end();
        }
    }
}

/// Sets aside what runs left in the trees that hold `directory`, and that belongs to no process any
/// more. Gives what to tell the user. `directory` is without links.
pub fn settle_leftovers(records: &Path, directory: &Path, mode: LeftoverMode) -> Result<Vec<String>, LeftoverError> {
    let mut told = Vec::new();
    let (above, found) = matching(records, directory)?;
    for FoundRecord { path, file, entries } in found {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(error)) => return Err(unreadable(&path)(error)),
        }
        // Read once more: the run, or its shim, may have ended between the first look and the lock.
        let entries = entries_of(&file).unwrap_or(entries);
        for entry in entries.iter().filter(|entry| entry.written.is_none()) {
            let tree = entry.place(&above);
            let at = tree.join(&entry.relative);
            if mode == LeftoverMode::Look {
                match is_there(&tree, &entry.relative) {
                    Ok(false) => continue,
                    Ok(true) | Err(_) => return Err(LeftoverError::Unswept { path: at }),
                }
            }
            match entry.set_aside(&tree) {
                Ok(None) => {}
                Ok(Some(name)) => told.push(format!(
                    "`{}` came into being during a run that was killed: set aside as `{}`",
                    at.display(),
                    name.display()
                )),
                Err(error) => {
                    return Err(LeftoverError::Unmoved { path: at, reason: error.to_string() });
                }
            }
        }
        if mode == LeftoverMode::SetAside {
            let run = path.file_name().map(run_of).unwrap_or_default();
            let (begin_ns, end_ns) = (began_ns(run), Some(now_ns()));
            let spans: Vec<WriteSpan> = entries.iter().filter_map(|entry| entry.span(begin_ns, end_ns)).collect();
            let kept = records.parent().unwrap_or(records);
            add_spans(kept, &spans).map_err(unreadable(kept))?;
            let other = |entry: &SweptEntry| {
                let mut name = OsString::from(tree_key(&entry.tree, entry.inode));
                name.push(run);
                records.join(name)
            };
            let names: Vec<PathBuf> = entries.iter().map(other).chain([path.clone()]).collect();
            remove(&file, &names);
        }
    }
    Ok(told)
}

/// Whether one of these files did not exist when a run began that has not ended in order: then its
/// command may have written it.
pub fn check_obeyed(records: &Path, directory: &Path, obeyed: &[PathBuf]) -> Result<(), LeftoverError> {
    if obeyed.is_empty() {
        return Ok(());
    }
    let (above, found) = matching(records, directory)?;
    for FoundRecord { entries, .. } in found {
        for entry in entries.into_iter().filter(|entry| entry.written.is_none()) {
            let path = entry.place(&above).join(&entry.relative);
            if obeyed.contains(&path) {
                return Err(LeftoverError::InUse { path });
            }
        }
    }
    Ok(())
}

/// Whether a command that has run, or runs, may have written one of these files. A configuration at the top of a
/// workspace is not in question: it is read-only there, or set aside.
pub fn check_unwritten(records: &Path, obeyed: &[PathBuf]) -> Result<(), LeftoverError> {
    if obeyed.is_empty() {
        return Ok(());
    }
    let kept = records.parent().unwrap_or(records);
    let mut spans = read_spans(kept).map_err(unreadable(kept))?;
    for FoundRecord { path, entries, .. } in every_record(records)? {
        let begin_ns = began_ns(path.file_name().map(run_of).unwrap_or_default());
        spans.extend(entries.iter().filter_map(|entry| entry.span(begin_ns, None)));
    }
    for path in obeyed {
        let found = ObeyedFile::at(path);
        if found.iter().any(|file| spans.iter().any(|span| file.is_written_in(span))) {
            return Err(LeftoverError::Written { path: path.clone() });
        }
    }
    Ok(())
}

/// Makes the directory of the records, where the user has a home for it.
pub fn make_sweep_records(records: &Path, home: &Path) -> io::Result<()> {
    if records.is_dir() || !home.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(records)
}

/// A record of a run in a tree that holds a directory.
struct FoundRecord {
    path: PathBuf,
    file: File,
    entries: Vec<SweptEntry>,
}

/// A directory with its device and inode.
type Located = (PathBuf, u64, u64);

/// A directory and those above it, and every record that speaks of one of them. Files that a
/// process left while it wrote a record are removed.
fn matching(records: &Path, directory: &Path) -> Result<(Vec<Located>, Vec<FoundRecord>), LeftoverError> {
    let names = match fs::read_dir(records) {
        Ok(names) => names,
        Err(error) if is_missing(&error) => return Ok((Vec::new(), Vec::new())),
        Err(error) => return Err(unreadable(records)(error)),
    };
    let names = names.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names = names.collect::<io::Result<Vec<_>>>().map_err(unreadable(records))?;
    if names.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    check_directory(records).map_err(unreadable(records))?;
    names.sort_unstable();
    let above = directory.ancestors().filter_map(|path| {
        let found = fs::metadata(path).ok()?;
        Some((path.to_owned(), found.dev(), found.ino()))
    });
    let above: Vec<Located> = above.collect();
    let mut found = Vec::new();
    for name in names {
        let path = records.join(&name);
        let unnamed = name.as_bytes().starts_with(b".");
        if !unnamed && !above.iter().any(|above| speaks_of(&name, above)) {
            continue;
        }
        let file = match open_record(&path, &mut OpenOptions::new()) {
            Ok(file) => file,
            // Its run has ended meanwhile.
            Err(error) if is_missing(&error) => continue,
            Err(error) => return Err(unreadable(&path)(error)),
        };
        if unnamed {
            if file.try_lock().is_ok() {
                remove(&file, &[path]);
            }
            continue;
        }
        let entries = entries_of(&file).map_err(unreadable(&path))?;
        let here = |entry: &SweptEntry| above.iter().any(|above| entry.is_at(above));
        // An empty record asks for nothing and goes with the look.
        if entries.is_empty() || entries.iter().any(here) {
            found.push(FoundRecord { path, file, entries });
        }
    }
    Ok((above, found))
}

/// The records of every tree.
fn every_record(records: &Path) -> Result<Vec<FoundRecord>, LeftoverError> {
    let names = match fs::read_dir(records) {
        Ok(names) => names,
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(records)(error)),
    };
    let mut found = Vec::new();
    for name in names {
        let name = name.map_err(unreadable(records))?;
        let path = name.path();
        // The command of a run that still writes its record has not started.
        if name.file_name().as_bytes().starts_with(b".") {
            continue;
        }
        match open_record(&path, &mut OpenOptions::new()).and_then(|file| Ok((entries_of(&file)?, file))) {
            Ok((entries, file)) => found.push(FoundRecord { path, file, entries }),
            // Its run has ended meanwhile.
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(unreadable(&path)(error)),
        }
    }
    Ok(found)
}

/// Whether the name of a record is that of this directory.
fn speaks_of(name: &OsStr, (path, _, inode): &Located) -> bool {
    let (inode, hash) = (format!("{inode:x}_"), format!("_{:x}_", hash(path)));
    name.to_str().is_some_and(|name| name.starts_with(&inode) || name.contains(&hash))
}

impl SweptEntry {
    /// The time in which a command could write it, if it is a tree.
    fn span(&self, begin_ns: u128, end_ns: Option<u128>) -> Option<WriteSpan> {
        let Self { tree, inode, written, .. } = self;
        written.map(|kind| WriteSpan { tree: tree.clone(), inode: *inode, kind, begin_ns, end_ns })
    }

    /// Whether its tree is this directory: by its path, or, where it was moved, by its inode.
    fn is_at(&self, (path, device, inode): &Located) -> bool {
        self.tree == *path || (self.device, self.inode) == (*device, *inode)
    }

    /// Where its tree is by now.
    fn place(&self, above: &[Located]) -> PathBuf {
        let here = above.iter().find(|above| self.is_at(above));
        here.map_or_else(|| self.tree.clone(), |(path, ..)| path.clone())
    }

    fn set_aside(&self, tree: &Path) -> io::Result<Option<OsString>> {
        if self.written.is_some() {
            return Ok(None);
        }
        set_aside(tree, &self.relative, &self.only_with, Swept::SUFFIX, TreeState::AtRest)
    }
}

fn open_record(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.read(true).write(true).mode(0o600).open(path)
}

/// Whether the directory is the user's alone: a record says what polder renames.
fn check_directory(directory: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(directory)?;
    let (uid, _) = polder_sys::wait::effective_ids();
    if !found.is_dir() || found.uid() != uid || found.mode() & 0o022 != 0 {
        let text = format!("`{}` is not a directory of this user alone", directory.display());
        return Err(io::Error::other(text));
    }
    Ok(())
}

/// Empties a record and removes its names. What fails here is done by the next run: an empty record
/// asks for nothing.
fn remove(file: &File, names: &[PathBuf]) {
    let _ = file.set_len(0);
    for name in names {
        let _ = fs::remove_file(name);
    }
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> LeftoverError {
    move |error| LeftoverError::Unreadable { path: path.to_owned(), reason: error.to_string() }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What the names of a tree's records begin with.
pub(crate) fn tree_key(tree: &Path, inode: u64) -> String {
    format!("{inode:x}_{:x}_", hash(tree))
}

/// The part of a record's name that every link of it has.
fn run_of(name: &OsStr) -> &OsStr {
    let bytes = name.as_bytes();
    let start = bytes.iter().rposition(|byte| *byte == b'_').map_or(0, |at| at + 1);
    OsStr::from_bytes(&bytes[start..])
}

/// A name that no other run has.
fn unique(begin_ns: u128) -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{begin_ns:x}-{:x}-{count:x}", std::process::id())
}

/// When a run began, by its name. A name that does not say so counts as one of the first day.
fn began_ns(run: &OsStr) -> u128 {
    let begin = run.to_str().and_then(|run| run.split('-').next());
    begin.and_then(|begin| u128::from_str_radix(begin, 16).ok()).unwrap_or_default()
}

/// FNV-1a: only tells names apart, and is the same in every build.
fn hash(path: &Path) -> u64 {
    let bytes = path.as_os_str().as_bytes().iter();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Every field ended by a NUL byte, which no path has; companions are names and have no slash.
fn encode(entries: &[SweptEntry]) -> Vec<u8> {
    let mut content = Vec::new();
    for SweptEntry { tree, device, inode, relative, only_with, written } in entries {
        let (device, inode, only_with) = (device.to_string(), inode.to_string(), only_with.join("/"));
        let fields: [&[u8]; FIELDS] = [
            written.map_or(SET_ASIDE, WrittenTree::name).as_bytes(),
            tree.as_os_str().as_bytes(),
            device.as_bytes(),
            inode.as_bytes(),
            relative.as_os_str().as_bytes(),
            only_with.as_bytes(),
        ];
        for field in fields {
            content.extend_from_slice(field);
            content.push(0);
        }
    }
    content
}

fn entries_of(mut file: &File) -> io::Result<Vec<SweptEntry>> {
    let mut content = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut content)?;
    let malformed = || io::Error::other("it is not a record of a run");
    let fields: Vec<&[u8]> = content.split(|byte| *byte == 0).collect();
    // Behind the last NUL byte there is one more, empty field.
    let (last, fields) = fields.split_last().ok_or_else(malformed)?;
    if !last.is_empty() || fields.len() % FIELDS != 0 {
        return Err(malformed());
    }
    let text = |field: &[u8]| String::from_utf8(field.to_vec()).map_err(|_| malformed());
    let number = |field: &[u8]| text(field)?.parse::<u64>().map_err(|_| malformed());
    let path = |field: &[u8]| PathBuf::from(OsString::from_vec(field.to_vec()));
    let entries = fields.chunks_exact(FIELDS).map(|fields| {
        let [kind, tree, device, inode, relative, only_with] = fields else { return Err(malformed()) };
        let (kind, only_with) = (text(kind)?, text(only_with)?);
        let written = WrittenTree::named(&kind);
        if written.is_none() && kind != SET_ASIDE {
            return Err(malformed());
        }
        Ok(SweptEntry {
            tree: path(tree),
            device: number(device)?,
            inode: number(inode)?,
            relative: path(relative),
            written,
            only_with: only_with.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        })
    });
    entries.collect()
}

#[cfg(test)]
mod tests;
