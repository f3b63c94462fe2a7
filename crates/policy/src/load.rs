//! The only place of this crate that touches the disk: finding a configuration file, reading it and what it extends.

use crate::dialect::Dialect;
use crate::document::{Document, Level, Source};
use crate::fault::{Fault, Faults};
use crate::lower;
use crate::notation::FILE_BYTES_MAX;
use crate::trust::{RepositoryIdentity, sealed};
use polder_facts::{Origin, Sourced};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The names of a project's configuration file.
pub const PROJECT_NAMES: [&str; 4] = ["polder.yaml", "polder.toml", ".visor.yaml", ".visor.yml"];
/// The names in the system's and the user's directory.
pub const OWN_NAMES: [&str; 2] = ["polder.yaml", "polder.toml"];
/// The longest chain of `extends`.
const EXTENDS_DEPTH_MAX: usize = 8;
/// The most files that one file may bring along.
const EXTENDS_FILES_MAX: usize = 32;

/// A project's file, and how far upward its repository goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The configuration file.
    pub path: PathBuf,
    /// The repository's root; the file's own directory when there is no repository.
    pub root: PathBuf,
}

/// Looks for a project's file from `start` up to the root of its repository. Without a repository only `start` counts:
/// what lies in a directory above was not put there for this tree.
pub fn find_project(start: &Path) -> Result<Option<Found>, Faults> {
    let root = start.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok()).unwrap_or(start);
    for dir in start.ancestors() {
        if let Some(path) = find_in(dir, &PROJECT_NAMES)? {
            return Ok(Some(Found { path, root: root.to_owned() }));
        }
        if dir == root {
            break;
        }
    }
    Ok(None)
}

/// Looks for the one file with one of these names.
pub fn find_in(dir: &Path, names: &[&str]) -> Result<Option<PathBuf>, Faults> {
    let mut found = names.iter().map(|name| dir.join(name)).filter(|path| path.symlink_metadata().is_ok());
    match (found.next(), found.next()) {
        (Some(first), Some(second)) => {
            let message = format!("both `{}` and `{}` exist", first.display(), second.display());
            Err(Fault::new(Origin::File { path: second, line: 1 }, message).hint("keep one").into())
        }
        (first, _) => Ok(first),
    }
}

/// Reads a file and every file that it extends. `boundary` is the directory that none of them may leave.
pub fn load(path: &Path, level: Level, boundary: &Path) -> Result<Source, Faults> {
    let mut loading = Loading { level, boundary, chain: Vec::new(), files: 0 };
    let at = Origin::File { path: path.to_owned(), line: 1 };
    loading.file(path, Dialect::of(path), &at)
}

/// Binds the fingerprint of a project's file to the files that it names and to its repository, whose
/// root is `root`: trust in it ends with a change of any of them, and does not follow a copy.
pub fn seal(document: Document, root: &Path) -> Result<Document, Faults> {
    let at = Origin::File { path: document.path.clone(), line: 1 };
    let path = real(root, &at)?;
    let fault = |error: std::io::Error| unreadable(root, &at, &error.to_string());
    let metadata = fs::metadata(&path).map_err(fault)?;
    let born = metadata.created().ok();
    let born_ns = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok()).map(|born| born.as_nanos());
    // Without a link that the file itself is: its content counts, wherever that lies.
    let directory = document.path.parent().unwrap_or(root);
    let inside = real(directory, &at)?.join(document.path.file_name().unwrap_or_default());
    let file = inside.strip_prefix(&path).map_or(inside.clone(), Path::to_owned);
    let place = RepositoryIdentity { path, file, inode: metadata.ino(), born_ns };
    let mut named = Vec::new();
    for Sourced { value: path, origin } in document.named_files() {
        // An engine reports a file that is missing or not regular, should a run need it.
        let bytes = read(&path, &origin).ok();
        if bytes.as_ref().is_some_and(|bytes| bytes.len() as u64 > FILE_BYTES_MAX) {
            return Err(unreadable(&path, &origin, &format!("it has more than {FILE_BYTES_MAX} bytes")));
        }
        named.push((path, bytes));
    }
    let fingerprint = sealed(&document.fingerprint, &named, &place);
    Ok(Document { fingerprint, ..document })
}

struct Loading<'a> {
    level: Level,
    boundary: &'a Path,
    /// The files between the first one and this one, with links resolved.
    chain: Vec<PathBuf>,
    files: usize,
}

impl Loading<'_> {
    fn file(&mut self, path: &Path, dialect: Dialect, from: &Origin) -> Result<Source, Faults> {
        let bytes = read(path, from)?;
        self.files += 1;
        let mut source = Source { path: path.to_owned(), bytes, level: self.level, dialect, extends: Vec::new() };
        let mut faults = Vec::new();
        self.chain.push(real(path, from)?);
        for name in lower::extends(&source) {
            match self.base(path, &name).and_then(|base| self.file(&base, dialect, &name.origin)) {
                Ok(base) => source.extends.push(base),
                Err(Faults(more)) => faults.extend(more),
            }
        }
        self.chain.pop();
        Faults::check(source, faults)
    }

    /// The file that a name in `extends` means, if it may be read.
    fn base(&self, path: &Path, name: &Sourced<String>) -> Result<PathBuf, Faults> {
        let fault = |message: String| Faults::from(Fault::new(name.origin.clone(), message));
        if self.chain.len() > EXTENDS_DEPTH_MAX {
            return Err(fault(format!("`extends` is more than {EXTENDS_DEPTH_MAX} files deep")));
        }
        if self.files >= EXTENDS_FILES_MAX {
            return Err(fault(format!("`extends` brings more than {EXTENDS_FILES_MAX} files")));
        }
        if Path::new(&name.value).is_absolute() || name.value.starts_with('~') {
            return Err(fault(format!("`{}` must be relative to the file", name.value)));
        }
        let base = normal(&path.parent().unwrap_or(Path::new("")).join(&name.value));
        let outside = || fault(format!("`{}` lies outside `{}`", name.value, self.boundary.display()));
        if !base.starts_with(normal(self.boundary)) {
            return Err(outside());
        }
        // Once more with links resolved: a link in a repository can point anywhere.
        let resolved = real(&base, &name.origin)?;
        if !resolved.starts_with(real(self.boundary, &name.origin)?) {
            return Err(outside());
        }
        if self.chain.contains(&resolved) {
            return Err(fault(format!("`{}` extends itself", base.display())));
        }
        Ok(base)
    }
}

/// The path without `.` and `..`, by its text.
fn normal(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if clean.file_name().is_some() => drop(clean.pop()),
            _ => clean.push(component),
        }
    }
    clean
}

fn real(path: &Path, from: &Origin) -> Result<PathBuf, Faults> {
    fs::canonicalize(path).map_err(|error| unreadable(path, from, &error.to_string()))
}

fn unreadable(path: &Path, from: &Origin, why: &str) -> Faults {
    Fault::new(from.clone(), format!("cannot read `{}`: {why}", path.display())).into()
}

/// The bytes of a regular file, one more than allowed at most: reading them refuses what is too long.
fn read(path: &Path, from: &Origin) -> Result<Vec<u8>, Faults> {
    let fault = |error: std::io::Error| unreadable(path, from, &error.to_string());
    // Before it is opened, because opening a FIFO waits for somebody at its other end.
    if !fs::metadata(path).map_err(fault)?.is_file() {
        return Err(unreadable(path, from, "not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(fault)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(fault)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
