//! When runs could write in a tree, for files that a later run would obey.
//!
//! polder sets configuration at the top of a workspace aside, and cannot look through a whole tree for more of it.
//! So it remembers, in `STATE/polder/written`, from when to when a command could write in which tree. The kernel
//! alone sets the ctime of an inode (see utimensat(2)): a file whose ctime lies in no such span was written by none of
//! these commands. A file whose ctime does is not obeyed without the user's word.

use crate::sweep_record::tree_key;
use polder_policy::PROJECT_NAMES;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The file, in the directory of what polder keeps.
const FILE: &str = "written";
/// The lock of a process that makes the file shorter or longer.
const LOCK: &str = "written.lock";
/// From this size on, spans are joined and those of trees that are gone are dropped.
const FILE_BYTES_MAX: usize = 128 * 1024;
/// The fields of a span.
const FIELDS: usize = 5;

/// Why a command can write a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenTree {
    /// Its workspace. Configuration at the top is read-only or set aside.
    Workspace,
    /// A bind.
    Bind,
}

impl WrittenTree {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Bind => "bind",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Workspace, Self::Bind].into_iter().find(|kind| kind.name() == name)
    }
}

/// A time in which a command could write a tree, in nanoseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WriteSpan {
    pub(crate) tree: PathBuf,
    pub(crate) inode: u64,
    pub(crate) kind: WrittenTree,
    pub(crate) begin_ns: u128,
    /// Absent while the command runs.
    pub(crate) end_ns: Option<u128>,
}

/// A file that a run would obey, as it lies on the disk.
pub(crate) struct ObeyedFile {
    path: PathBuf,
    /// The inodes of the directories that hold it.
    above: Vec<(PathBuf, u64)>,
    changed_ns: u128,
    links: u64,
}

impl ObeyedFile {
    /// The file and, where its name is a symlink, the symlink. Nothing where there is none.
    pub(crate) fn at(path: &Path) -> Vec<Self> {
        let parent = path.parent().and_then(|parent| fs::canonicalize(parent).ok());
        let named = parent.zip(path.file_name()).map(|(parent, name)| parent.join(name));
        let mut found: Vec<PathBuf> = named.into_iter().chain(fs::canonicalize(path).ok()).collect();
        found.dedup();
        found.into_iter().filter_map(Self::look).collect()
    }

    fn look(path: PathBuf) -> Option<Self> {
        let found = fs::symlink_metadata(&path).ok()?;
        let directories = path.ancestors().skip(1);
        let above = directories.filter_map(|above| Some((above.to_owned(), fs::metadata(above).ok()?.ino())));
        let above = above.collect();
        Some(Self { path, above, changed_ns: changed_ns(&found), links: found.nlink() })
    }

    /// Whether a command that could write the tree may have written the file.
    pub(crate) fn is_written_in(&self, span: &WriteSpan) -> bool {
        let begun = span.begin_ns <= self.changed_ns;
        if !begun || span.end_ns.is_some_and(|end| end < self.changed_ns) {
            return false;
        }
        // Another hard link of it may lie in any tree.
        if self.links > 1 {
            return true;
        }
        let holds = |(path, inode): &&(PathBuf, u64)| *path == span.tree || *inode == span.inode;
        let Some((tree, _)) = self.above.iter().find(holds) else { return false };
        let at_top = self.path.parent() == Some(tree.as_path())
            && PROJECT_NAMES.iter().any(|name| self.path.file_name().is_some_and(|found| found == *name));
        !(at_top && span.kind == WrittenTree::Workspace)
    }
}

/// The ctime in nanoseconds since 1970; 0 for an earlier one.
pub(crate) fn changed_ns(found: &fs::Metadata) -> u128 {
    let seconds = u128::try_from(found.ctime()).unwrap_or_default();
    seconds * 1_000_000_000 + u128::try_from(found.ctime_nsec()).unwrap_or_default()
}

/// Nanoseconds since 1970.
pub(crate) fn now_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

/// The spans of runs that have ended.
pub(crate) fn read_spans(kept: &Path) -> io::Result<Vec<WriteSpan>> {
    match fs::read(kept.join(FILE)) {
        Ok(content) => decode(&content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Adds spans of a run that has ended.
pub(crate) fn add_spans(kept: &Path, spans: &[WriteSpan]) -> io::Result<()> {
    if spans.is_empty() {
        return Ok(());
    }
    let lock = open(&kept.join(LOCK), OpenOptions::new().create(true))?;
    lock.lock()?;
    let path = kept.join(FILE);
    let mut file = open(&path, OpenOptions::new().create(true).append(true))?;
    let added = encode(spans);
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if length.saturating_add(added.len()) <= FILE_BYTES_MAX {
        let written = file.write_all(&added);
        if written.is_err() {
            // On a full disk a part of it may be there, which would make the rest unreadable.
            file.set_len(length as u64)?;
        }
        return written;
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    let mut all = decode(&content)?;
    all.extend_from_slice(spans);
    all.retain(|span| fs::metadata(&span.tree).is_ok_and(|found| found.ino() == span.inode));
    let shorter = kept.join(format!("{FILE}.new"));
    let mut file = open(&shorter, OpenOptions::new().create(true).truncate(true))?;
    file.write_all(&encode(&joined(all)))?;
    fs::rename(&shorter, &path)
}

/// The same spans, with the shorter half of the gaps between those of one tree closed: a gap in which the user
/// works is longer than one between two runs of a script.
fn joined(mut spans: Vec<WriteSpan>) -> Vec<WriteSpan> {
    let key = |span: &WriteSpan| (tree_key(&span.tree, span.inode), span.kind.name());
    spans.sort_by_cached_key(|span| (key(span), span.begin_ns));
    let gap = |one: &WriteSpan, next: &WriteSpan| {
        (key(one) == key(next)).then(|| next.begin_ns.saturating_sub(one.end_ns.unwrap_or(next.begin_ns)))
    };
    let mut gaps: Vec<u128> = spans.windows(2).filter_map(|pair| gap(&pair[0], &pair[1])).collect();
    gaps.sort_unstable();
    let middle = gaps.get(gaps.len() / 2).copied().unwrap_or_default();
    let mut kept: Vec<WriteSpan> = Vec::new();
    for span in spans {
        match kept.last_mut() {
            Some(last) if gap(last, &span).is_some_and(|gap| gap <= middle) => {
                last.end_ns = last.end_ns.max(span.end_ns);
            }
            _ => kept.push(span),
        }
    }
    kept
}

fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.read(true).write(true).mode(0o600).open(path)
}

/// Every field ended by a NUL byte, which no path has.
fn encode(spans: &[WriteSpan]) -> Vec<u8> {
    let mut content = Vec::new();
    for WriteSpan { tree, inode, kind, begin_ns, end_ns } in spans {
        let times = [begin_ns.to_string(), end_ns.unwrap_or(*begin_ns).to_string()];
        let inode = inode.to_string();
        let fields: [&[u8]; FIELDS] = [
            tree.as_os_str().as_bytes(),
            inode.as_bytes(),
            kind.name().as_bytes(),
            times[0].as_bytes(),
            times[1].as_bytes(),
        ];
        for field in fields {
            content.extend_from_slice(field);
            content.push(0);
        }
    }
    content
}

fn decode(content: &[u8]) -> io::Result<Vec<WriteSpan>> {
    use std::os::unix::ffi::OsStringExt;
    let malformed = || io::Error::other("it is not a list of runs");
    let fields: Vec<&[u8]> = content.split(|byte| *byte == 0).collect();
    // Behind the last NUL byte there is one more field. It is not empty where a disk was full.
    let fields = &fields[..fields.len() - 1];
    let text = |field: &[u8]| String::from_utf8(field.to_vec()).map_err(|_| malformed());
    let spans = fields.chunks(FIELDS).map(|fields| {
        let [tree, inode, kind, begin_ns, end_ns] = fields else { return Err(malformed()) };
        Ok(WriteSpan {
            tree: PathBuf::from(std::ffi::OsString::from_vec(tree.to_vec())),
            inode: text(inode)?.parse().map_err(|_| malformed())?,
            kind: WrittenTree::named(&text(kind)?).ok_or_else(malformed)?,
            begin_ns: text(begin_ns)?.parse().map_err(|_| malformed())?,
            end_ns: Some(text(end_ns)?.parse().map_err(|_| malformed())?),
        })
    });
    spans.collect()
}

#[cfg(test)]
mod tests;
