//! Writing the log: one lock, one line, on the disk before anybody goes on.

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    directory: PathBuf,
    file_bytes_max: u64,
}

/// Why something is not in the log.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The log cannot be written or read.
    #[error("cannot {what} the audit log `{}`", path.display())]
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
    /// One record is too long.
    #[error("a record of {0} bytes is too long for the audit log")]
    TooLong(usize),
}

/// Where the log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) seq: u64,
    pub(crate) hash: String,
}

impl Log {
    /// The log in this directory, which may not exist yet.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), file_bytes_max: FILE_BYTES_MAX }
    }

    /// The same with files of another length, for tests.
    #[cfg(test)]
    pub(crate) fn with_file_bytes_max(self, file_bytes_max: u64) -> Self {
        Self { file_bytes_max, ..self }
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
        let (line, hash) = Record::line(end.seq + 1, &end.hash, kind, data);
        if line.len() > LINE_BYTES_MAX {
            return Err(AuditError::TooLong(line.len()));
        }
        let end = End { seq: end.seq + 1, hash };
        let before = file.metadata().map_err(|source| self.io("read", CURRENT, source))?.len();
        if let Err(error) = self.write(&mut file, &line).and_then(|()| self.note(&end)) {
            // Whoever asked is told that it is not there, so it must not be; what cannot be taken back says too much, not
            // too little.
            let _ = file.set_len(before);
            return Err(error);
        }
        if file.metadata().map_err(|source| self.io("read", CURRENT, source))?.len() > self.file_bytes_max {
            let aside = self.directory.join(format!("audit-{:012}.jsonl", end.seq));
            fs::rename(&path, &aside).map_err(|source| self.io("set aside", CURRENT, source))?;
        }
        Ok(end.seq)
    }

    fn write(&self, file: &mut File, line: &str) -> Result<(), AuditError> {
        let written = file.write_all(format!("{line}\n").as_bytes()).and_then(|()| file.sync_data());
        written.map_err(|source| self.io("write", CURRENT, source))
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

    /// The end of the log, by its last line. What a crash left of a line that was never told to anybody is removed.
    fn end(&self, file: &mut File, head: Option<&End>) -> Result<End, AuditError> {
        let io = |source| self.io("read", CURRENT, source);
        let length = file.metadata().map_err(io)?.len();
        if length == 0 {
            // Set aside, or new: the head is all there is to continue from.
            return Ok(head.cloned().unwrap_or_else(|| End { seq: 0, hash: BEGINNING.to_owned() }));
        }
        let from = length.saturating_sub(2 * LINE_BYTES_MAX as u64 + 2);
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(from)).map_err(io)?;
        file.read_to_end(&mut tail).map_err(io)?;
        let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole < tail.len() {
            let keep = from + whole as u64;
            file.set_len(keep).map_err(|source| self.io("write", CURRENT, source))?;
            tail.truncate(whole);
            if tail.is_empty() {
                return self.end(file, head);
            }
        }
        let broken = |why: String| AuditError::Broken { path: self.directory.join(CURRENT), why };
        let line = tail[..tail.len() - 1].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let last = Record::read(line).map_err(|why| broken(format!("has a last line that {why}")))?;
        match head {
            Some(head) if head.seq > last.seq => {
                Err(broken(format!("ends at {}, and {} was its last record", last.seq, head.seq)))
            }
            Some(head) if head.seq == last.seq && head.hash != last.hash => {
                Err(broken(format!("has another record {} than the one that was noted", last.seq)))
            }
            Some(_) | None => Ok(End { seq: last.seq, hash: last.hash }),
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
            Some(End { seq: value["seq"].as_u64()?, hash: value["hash"].as_str()?.to_owned() })
        };
        let path = self.directory.join(HEAD);
        read().map(Some).ok_or_else(|| AuditError::Broken { path, why: "does not name a record".to_owned() })
    }

    /// Notes the end: a new file in the place of the old one, so that there is always a whole one.
    fn note(&self, end: &End) -> Result<(), AuditError> {
        let aside = self.directory.join("head.new");
        let text = json!({"seq": end.seq, "hash": end.hash}).to_string();
        let write = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            options.open(&aside)?.write_all(text.as_bytes())?;
            fs::rename(&aside, self.directory.join(HEAD))
        };
        write().map_err(|source| self.io("write", HEAD, source))
    }

    /// The files of the log, oldest first.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, AuditError> {
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
        let current = self.directory.join(CURRENT);
        files.extend(current.exists().then_some(current));
        Ok(files)
    }

    /// Every line of the log as it is written, oldest first.
    pub fn lines(&self) -> Result<Vec<Vec<u8>>, AuditError> {
        let mut lines = Vec::new();
        for path in self.files()? {
            let bytes =
                fs::read(&path).map_err(|source| AuditError::Io { what: "read", path: path.clone(), source })?;
            lines.extend(bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec));
        }
        Ok(lines)
    }
}

#[cfg(test)]
pub(crate) mod tests;
