//! Writing the log: one lock, one line, on the disk before anybody goes on.

use crate::anchor::{self, Anchored};
use crate::record::{BEGINNING, Kind, LINE_BYTES_MAX, Record};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The file that grows.
pub(crate) const CURRENT: &str = "audit.jsonl";
/// Where the last record is noted, so that a log that lost its end is found out.
pub(crate) const HEAD: &str = "head";
const LOCK: &str = "lock";
/// A file that is longer than this is set aside, and a new one continues it.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// A log in a directory that only its owner can enter.
#[derive(Clone, Debug)]
pub struct Log {
    directory: PathBuf,
    /// Where the last record is noted besides, outside of the directory.
    anchor: Option<PathBuf>,
    file_bytes_max: u64,
    /// Returns when what was written is on the disk. Nothing else in a test could tell whether it is.
    sync: fn(&File) -> io::Result<()>,
}

/// Why something is not in the log.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The log cannot be written or read.
    #[error("cannot {what} the audit log `{}`: {source}; it needs room, and a directory that you can write", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The log does not fit together, and nothing is added to it.
    #[error("the audit log `{}` {why}; `polder audit verify` says more", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Others can read or write where the log is.
    #[error("the directory of the audit log `{}` belongs to somebody else, or others can enter it; make it 0700", path.display())]
    Open {
        /// The directory.
        path: PathBuf,
    },
    /// The log is not the one that its anchor names, and nothing is added to it.
    #[error(
        "the audit log `{}` {why}; `polder audit verify` says more. A log that you removed yourself begins anew when \
         its anchor `{}` is removed as well",
        log.display(),
        anchor.display()
    )]
    Unanchored {
        /// The directory of the log.
        log: PathBuf,
        /// The anchor.
        anchor: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The anchor cannot be written or read.
    #[error(
        "cannot {what} the anchor `{}` of the audit log: {source}; it needs a directory that you can write, \
         `XDG_DATA_HOME` names another one",
        path.display()
    )]
    Anchor {
        /// What was tried.
        what: &'static str,
        /// The anchor.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// One record is too long.
    #[error("a record of {0} bytes is too long for the audit log")]
    TooLong(usize),
}

/// Where the log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) seq: u64,
    pub(crate) hash: String,
    /// Whether an anchor was written for the log, by the note beside it. An anchor itself says nothing of it.
    pub(crate) anchored: bool,
}

impl End {
    pub(crate) fn new(seq: u64, hash: impl Into<String>) -> Self {
        Self { seq, hash: hash.into(), anchored: false }
    }

    /// Whether it names this record.
    pub(crate) fn is_of(&self, record: &Record) -> bool {
        (self.seq, &self.hash) == (record.seq, &record.hash)
    }

    fn is(&self, other: &Self) -> bool {
        (self.seq, &self.hash) == (other.seq, &other.hash)
    }
}

impl Log {
    /// The log in this directory, which may not exist yet.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), anchor: None, file_bytes_max: FILE_BYTES_MAX, sync: File::sync_data }
    }

    /// The same with a note of the last record at this path, which must lie outside of the directory.
    pub fn with_anchor(self, anchor: Option<PathBuf>) -> Self {
        Self { anchor, ..self }
    }

    /// The same with files of another length, for tests.
    #[cfg(test)]
    pub(crate) fn with_file_bytes_max(self, file_bytes_max: u64) -> Self {
        Self { file_bytes_max, ..self }
    }

    /// The same on another disk, for tests.
    #[cfg(test)]
    pub(crate) fn with_sync(self, sync: fn(&File) -> io::Result<()>) -> Self {
        Self { sync, ..self }
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Adds a record and returns its place when it is on the disk.
    pub fn append(&self, kind: Kind, data: &Value) -> Result<u64, AuditError> {
        self.open_directory()?;
        let _lock = self.lock()?;
        let path = self.directory.join(CURRENT);
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(|source| self.io("open", CURRENT, source))?;
        let head = self.head()?;
        let end = self.end(&mut file, head.as_ref())?;
        if head.as_ref().is_some_and(|head| !head.is(&end)) {
            // A writer was killed between its line and its note. Without this, a second such kill
            // would leave two lines that no note vouches for.
            self.note(&end)?;
        }
        let end = match self.check_anchor(&end, head.as_ref())? {
            AnchorState::Fits => end,
            // A later reader of the log learns that the anchor vouches for nothing before this.
            AnchorState::Lost => self.add(&mut file, &end, Kind::AnchorRenewed, &json!({"after": end.seq}))?,
        };
        let end = self.add(&mut file, &end, kind, data)?;
        if file.metadata().map_err(|source| self.io("read", CURRENT, source))?.len() > self.file_bytes_max {
            fs::rename(&path, self.aside(&end)).map_err(|source| self.io("set aside", CURRENT, source))?;
            self.sync_directory().map_err(|source| self.io("set aside", CURRENT, source))?;
        }
        Ok(end.seq)
    }

    /// Adds one line behind the last one, with its notes.
    fn add(&self, file: &mut File, last: &End, kind: Kind, data: &Value) -> Result<End, AuditError> {
        let (line, hash) = Record::line(last.seq + 1, &last.hash, kind, data);
        if line.len() > LINE_BYTES_MAX {
            return Err(AuditError::TooLong(line.len()));
        }
        let end = End::new(last.seq + 1, hash);
        let before = file.metadata().map_err(|source| self.io("read", CURRENT, source))?.len();
        if let Err(error) = self.write(file, &line).and_then(|()| self.note(&end)) {
            // Whoever asked is told that it is not there, so it must not be; what cannot be taken back says too much, not
            // too little.
            let _ = file.set_len(before);
            return Err(error);
        }
        if let Err(error) = self.write_anchor(&end) {
            // The record goes only after its note: a note without its record would be a log that lost its end.
            let _ = self.note(last).map(|()| file.set_len(before));
            return Err(error);
        }
        Ok(end)
    }

    fn write(&self, file: &mut File, line: &str) -> Result<(), AuditError> {
        let written = file.write_all(format!("{line}\n").as_bytes()).and_then(|()| (self.sync)(file));
        written.map_err(|source| self.io("write", CURRENT, source))
    }

    /// Whether the log that ends here is the one that its anchor names. An anchor that a power failure left behind
    /// names an earlier record, which is looked for in the whole log.
    fn check_anchor(&self, end: &End, head: Option<&End>) -> Result<AnchorState, AuditError> {
        let Some(anchor) = &self.anchor else { return Ok(AnchorState::Fits) };
        let wrong = |why: String| AuditError::Unanchored { log: self.directory.clone(), anchor: anchor.clone(), why };
        let anchored = anchor::read(anchor).map_err(|source| self.anchor_io("read", source))?;
        match anchored {
            // An empty file is what a power failure can leave of a new one.
            Anchored::Broken => Ok(AnchorState::Lost),
            Anchored::Missing if head.is_some_and(|head| head.anchored) => Ok(AnchorState::Lost),
            Anchored::Unasked | Anchored::Missing => Ok(AnchorState::Fits),
            Anchored::At(noted) if noted.is(end) => Ok(AnchorState::Fits),
            Anchored::At(noted) if noted.seq > end.seq => {
                Err(wrong(format!("ends at {}, and {} was its last record", end.seq, noted.seq)))
            }
            Anchored::At(noted) => {
                let lines = self.read_files()?.lines;
                let has =
                    lines.iter().rev().filter_map(|line| Record::read(line).ok()).any(|record| noted.is_of(&record));
                if has {
                    Ok(AnchorState::Fits)
                } else {
                    Err(wrong(format!("has another record {} than its anchor", noted.seq)))
                }
            }
        }
    }

    fn write_anchor(&self, end: &End) -> Result<(), AuditError> {
        let Some(anchor) = &self.anchor else { return Ok(()) };
        anchor::write(anchor, &self.directory, end).map_err(|source| self.anchor_io("write", source))
    }

    fn anchor_io(&self, what: &'static str, source: io::Error) -> AuditError {
        AuditError::Anchor { what, path: self.anchor.clone().unwrap_or_default(), source }
    }

    /// Names are on the disk when the directory is; see fsync(2).
    fn sync_directory(&self) -> io::Result<()> {
        (self.sync)(&File::open(&self.directory)?)
    }

    fn io(&self, what: &'static str, name: &str, source: io::Error) -> AuditError {
        AuditError::Io { what, path: self.directory.join(name), source }
    }

    fn open_directory(&self) -> Result<(), AuditError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&self.directory).map_err(|source| self.io("make the directory of", "", source))?;
        let found = fs::symlink_metadata(&self.directory).map_err(|source| self.io("read", "", source))?;
        let ours = fs::metadata("/proc/self").map_or(found.uid(), |own| own.uid());
        if !found.is_dir() || found.permissions().mode() & 0o077 != 0 || found.uid() != ours {
            return Err(AuditError::Open { path: self.directory.clone() });
        }
        Ok(())
    }

    fn lock(&self) -> Result<File, AuditError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(self.directory.join(LOCK)).map_err(|source| self.io("lock", LOCK, source))?;
        file.lock().map_err(|source| self.io("lock", LOCK, source))?;
        Ok(file)
    }

    /// Where a file goes whose last record this is.
    fn aside(&self, end: &End) -> PathBuf {
        self.directory.join(format!("audit-{:012}.jsonl", end.seq))
    }

    /// The end of the log, by its last line and by what was noted. They agree, or a crash came between the line and its note.
    fn end(&self, file: &mut File, head: Option<&End>) -> Result<End, AuditError> {
        let path = || self.directory.join(CURRENT);
        let broken = |why: String| AuditError::Broken { path: path(), why };
        match (self.last(file)?, head) {
            (None, None) => self.beginning(),
            (None, Some(head)) if head.seq == 0 => Ok(head.clone()),
            (None, Some(head)) => self.continued(head),
            (Some(_), None) => Err(broken("has records, and the note of the last one is gone".to_owned())),
            (Some(last), Some(head)) => follows(&last, head).map_err(broken),
        }
    }

    /// The last line of the file that grows. What a crash left of a line that was never told to anybody is removed.
    fn last(&self, file: &mut File) -> Result<Option<Record>, AuditError> {
        let (tail, end) = tail(file).map_err(|source| self.io("read", CURRENT, source))?;
        if file.metadata().map_err(|source| self.io("read", CURRENT, source))?.len() > end {
            file.set_len(end).map_err(|source| self.io("write", CURRENT, source))?;
        }
        let broken =
            |why| AuditError::Broken { path: self.directory.join(CURRENT), why: format!("has a last line that {why}") };
        last_line(&tail).map(Record::read).transpose().map_err(broken)
    }

    /// A log begins with a note that it is empty, so that one without a note has lost it.
    fn beginning(&self) -> Result<End, AuditError> {
        if let Some(path) = self.files_aside()?.pop() {
            return Err(AuditError::Broken {
                path,
                why: "has records, and the note of the last one is gone".to_owned(),
            });
        }
        let beginning = End::new(0, BEGINNING);
        self.note(&beginning)?;
        Ok(beginning)
    }

    /// The end of a log whose last file was set aside: that file has to be there, and to end with what was noted.
    fn continued(&self, head: &End) -> Result<End, AuditError> {
        let path = self.aside(head);
        let broken = |why: String| AuditError::Broken { path: path.clone(), why };
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let current = self.directory.join(CURRENT);
                let why = format!("is empty, and {} was its last record", head.seq);
                return Err(AuditError::Broken { path: current, why });
            }
            Err(source) => return Err(AuditError::Io { what: "read", path, source }),
        };
        let (tail, _) =
            tail(&mut file).map_err(|source| AuditError::Io { what: "read", path: path.clone(), source })?;
        let last = Record::read(last_line(&tail).unwrap_or_default());
        match last.map_err(|why| broken(format!("has a last line that {why}")))? {
            last if last.seq == head.seq && last.hash == head.hash => Ok(head.clone()),
            last => Err(broken(format!("ends with another record {} than the one that was noted", last.seq))),
        }
    }

    /// What was noted as the end.
    pub(crate) fn head(&self) -> Result<Option<End>, AuditError> {
        let text = match fs::read_to_string(self.directory.join(HEAD)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(self.io("read", HEAD, source)),
        };
        let read = || -> Option<End> {
            let value: Value = serde_json::from_str(&text).ok()?;
            let anchored = value["anchored"].as_bool().unwrap_or(false);
            Some(End { seq: value["seq"].as_u64()?, hash: value["hash"].as_str()?.to_owned(), anchored })
        };
        let path = self.directory.join(HEAD);
        read().map(Some).ok_or_else(|| AuditError::Broken { path, why: "does not name a record".to_owned() })
    }

    /// Notes the end: a new file in the place of the old one, so that there is always a whole one.
    fn note(&self, end: &End) -> Result<(), AuditError> {
        let aside = self.directory.join("head.new");
        let text = json!({"seq": end.seq, "hash": end.hash, "anchored": self.anchor.is_some()}).to_string();
        let write = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&aside)?;
            file.write_all(text.as_bytes())?;
            // A new name for what is not on the disk yet is, after a crash, the name of an empty file.
            (self.sync)(&file)?;
            fs::rename(&aside, self.directory.join(HEAD))?;
            // With the directory the names of new files are on the disk, that of the log among them.
            self.sync_directory()
        };
        write().map_err(|source| self.io("write", HEAD, source))
    }

    /// The files that were set aside, oldest first.
    fn files_aside(&self) -> Result<Vec<PathBuf>, AuditError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(self.io("read", "", source)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let name = entry.map_err(|source| self.io("read", "", source))?.file_name();
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("audit-") && name.ends_with(".jsonl") {
                files.push(self.directory.join(name));
            }
        }
        files.sort();
        Ok(files)
    }

    /// The files of the log, oldest first.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, AuditError> {
        let mut files = self.files_aside()?;
        let current = self.directory.join(CURRENT);
        files.extend(current.exists().then_some(current));
        Ok(files)
    }

    /// Every line of the log as it is written, oldest first.
    pub fn lines(&self) -> Result<Vec<Vec<u8>>, AuditError> {
        Ok(self.read()?.lines)
    }

    /// The whole log at one moment: nobody writes meanwhile.
    pub(crate) fn read(&self) -> Result<Whole, AuditError> {
        let lock = self.lock_shared()?;
        let whole = self.read_files();
        if lock.is_none() && self.directory.join(LOCK).exists() {
            // The first writer of all came in between: what was read may be of two moments.
            return self.read();
        }
        whole
    }

    fn read_files(&self) -> Result<Whole, AuditError> {
        let head = self.head();
        let mut lines = Vec::new();
        for path in self.files()? {
            let bytes =
                fs::read(&path).map_err(|source| AuditError::Io { what: "read", path: path.clone(), source })?;
            // Behind the last line break there is no line, unless a crash left one.
            let all = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            if !bytes.is_empty() {
                lines.extend(all.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
            }
        }
        let anchor = self.anchor.as_deref().map_or(Ok(Anchored::Unasked), anchor::read);
        let anchor = anchor.map_err(|source| self.anchor_io("read", source))?;
        Ok(Whole { lines, head, anchor })
    }

    /// Keeps writers away; where none has ever been there is nothing to lock.
    fn lock_shared(&self) -> Result<Option<File>, AuditError> {
        match File::open(self.directory.join(LOCK)) {
            Ok(file) => file.lock_shared().map(|()| Some(file)).map_err(|source| self.io("lock", LOCK, source)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.io("lock", LOCK, source)),
        }
    }
}

/// How an anchor stands to its log.
enum AnchorState {
    /// It names a record of the log, or there was none yet.
    Fits,
    /// There was one, and it is gone or names no record.
    Lost,
}

/// Everything that is in the directory of a log.
pub(crate) struct Whole {
    pub(crate) lines: Vec<Vec<u8>>,
    /// What was noted as the end, if that can be read.
    pub(crate) head: Result<Option<End>, AuditError>,
    /// What is noted elsewhere.
    pub(crate) anchor: Anchored,
}

/// The end of a file, up to its last line break, and where that is.
fn tail(file: &mut File) -> io::Result<(Vec<u8>, u64)> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(2 * LINE_BYTES_MAX as u64 + 2);
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(length - from).read_to_end(&mut tail)?;
    tail.truncate(tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
    let end = from + tail.len() as u64;
    Ok((tail, end))
}

/// The last line of what ends with a line break.
fn last_line(tail: &[u8]) -> Option<&[u8]> {
    tail.strip_suffix(b"\n")?.rsplit(|byte| *byte == b'\n').next()
}

/// The end of a log with this last record and this note; an error is why they do not go together. One record may be
/// written and not yet noted; more than that, nobody writes.
fn follows(last: &Record, head: &End) -> Result<End, String> {
    let (is_noted, is_next) = (last.hash == head.hash, last.prev == head.hash);
    if last.seq == head.seq && is_noted || last.seq == head.seq + 1 && is_next {
        Ok(End::new(last.seq, last.hash.clone()))
    } else if head.seq > last.seq {
        Err(format!("ends at {}, and {} was its last record", last.seq, head.seq))
    } else if head.seq == last.seq {
        Err(format!("has another record {} than the one that was noted", last.seq))
    } else {
        Err(format!("ends at {}, which does not follow record {} as it was noted", last.seq, head.seq))
    }
}

#[cfg(test)]
pub(crate) mod tests;
