//! What a build gets: the workspace, without what is hidden, ignored or no file.
//!
//! Every file is opened by descriptor below the workspace and through no symbolic link, so that nothing from elsewhere can
//! get into an image. It is read twice: once to know its name, once to send it; a digest of both tells whether it was the
//! same content.

mod packed;

pub(super) use packed::Packed;

use super::ImageError;
use super::ignore::{Fault, Ignore};
use super::tar::What;
use polder_sys::tree::{self, Kind};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The most entries, and the most bytes.
const ENTRIES_MAX: usize = 1_000_000;
const CONTEXT_BYTES_MAX: u64 = 64 * 1024 * 1024 * 1024;
/// The list of what a build does not get.
pub(super) const IGNORE_FILE: &str = ".dockerignore";
const IGNORE_BYTES_MAX: u64 = 1024 * 1024;

/// What a build gets.
#[derive(Debug)]
pub(super) struct Context {
    root: OwnedFd,
    /// Parents before children.
    entries: Vec<Entry>,
    /// Files that are sent with this content, whatever the workspace has there.
    written: Vec<(PathBuf, Vec<u8>)>,
}

/// One thing that it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    path: PathBuf,
    what: What,
    mode: u32,
    modified: i64,
}

impl Context {
    /// Looks at the workspace. `hidden` are paths in it that nobody may read; `always` is sent even if it is ignored.
    pub(super) fn gather(root: &Path, hidden: &BTreeSet<PathBuf>, always: Option<&Path>) -> Result<Self, ImageError> {
        let broken = |path: &Path| {
            let path = path.to_owned();
            move |source| ImageError::Context { path, source }
        };
        let open = tree::open_root(root).map_err(broken(root))?;
        let ignore = read_ignore(&open, hidden)?;
        let mut context = Self { root: open, entries: Vec::new(), written: Vec::new() };
        let mut bytes: u64 = 0;
        let mut next = vec![PathBuf::new()];
        while let Some(directory) = next.pop() {
            let open = tree::open_below(context.root.as_fd(), &directory).map_err(broken(&directory))?;
            for name in tree::names(open.as_fd()).map_err(broken(&directory))? {
                let path = directory.join(&name);
                if hidden.contains(&path) {
                    continue;
                }
                let stat = tree::stat(open.as_fd(), &name).map_err(broken(&path))?;
                let left_out = ignore.leaves_out(path.as_os_str().as_bytes());
                let wanted = !left_out || always == Some(&path) || path.as_os_str() == IGNORE_FILE;
                let what = match stat.kind {
                    Kind::Directory => {
                        let leads = always.is_some_and(|always| always.starts_with(&path));
                        if wanted || leads || ignore.may_keep_below() {
                            next.push(path.clone());
                        }
                        What::Directory
                    }
                    Kind::File => What::File { size_bytes: stat.size },
                    Kind::Symlink if wanted => {
                        let to = tree::read_symlink(open.as_fd(), &name).map_err(broken(&path))?;
                        What::Link { to: to.as_bytes().to_vec() }
                    }
                    // Devices, pipes and sockets have no content that could be sent.
                    Kind::Symlink | Kind::CharDevice | Kind::BlockDevice | Kind::Fifo | Kind::Socket => continue,
                };
                if !wanted {
                    continue;
                }
                if let What::File { size_bytes } = what {
                    bytes = bytes.saturating_add(size_bytes);
                }
                context.entries.push(Entry { path, what, mode: stat.mode, modified: stat.modified.seconds });
                if context.entries.len() > ENTRIES_MAX || bytes > CONTEXT_BYTES_MAX {
                    let what = format!("more than {ENTRIES_MAX} files or {CONTEXT_BYTES_MAX} bytes");
                    return Err(ImageError::TooMuch { what });
                }
            }
        }
        context.entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(context)
    }

    /// Sends a file of this name with this content, instead of what the workspace has there.
    pub(super) fn write(&mut self, path: PathBuf, content: Vec<u8>) {
        self.entries.retain(|entry| entry.path != path);
        self.written.push((path, content));
    }

    /// The content of a file that is sent.
    pub(super) fn read(&self, path: &Path, limit_bytes: u64) -> io::Result<Vec<u8>> {
        read_below(&self.root, path, limit_bytes)
    }

    /// The archive, from its beginning.
    pub(super) fn packed(&self) -> Packed<'_> {
        Packed::new(self)
    }
}

/// The list of what a build does not get. One that is there and cannot be read is an error: without it a build would get
/// what somebody wanted to keep from it.
fn read_ignore(root: &OwnedFd, hidden: &BTreeSet<PathBuf>) -> Result<Ignore, ImageError> {
    let path = Path::new(IGNORE_FILE);
    let bytes = match read_below(root, path, IGNORE_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !hidden.contains(path) => Vec::new(),
        Err(source) => return Err(ImageError::Context { path: path.to_owned(), source }),
    };
    let text = String::from_utf8(bytes).map_err(|_| ImageError::Ignore { line: 1, what: "the file is not text" })?;
    Ignore::parse(&text).map_err(|Fault { line, what }| ImageError::Ignore { line, what })
}

/// Reads a file below a directory, through no symbolic link.
pub(in crate::container) fn read_below(root: &OwnedFd, path: &Path, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_below(root, path)?;
    let mut bytes = Vec::new();
    file.take(limit_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit_bytes { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Opens a regular file below a directory.
fn open_below(root: &OwnedFd, path: &Path) -> io::Result<std::fs::File> {
    let directory = tree::open_below(root.as_fd(), path.parent().unwrap_or(Path::new("")))?;
    let file = tree::open_file(directory.as_fd(), path.file_name().unwrap_or(OsStr::new("")))?;
    match tree::stat_of(file.as_fd())?.kind {
        Kind::File => Ok(file),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

#[cfg(test)]
mod tests;
