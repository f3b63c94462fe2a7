//! The file of a report. Steps may be able to write where it comes to lie, so nothing of it is there while they run: it is
//! written aside when all have ended, in the directory that was meant at the beginning, and put in place as a whole.

use super::github;
use crate::exit::Failure;
use polder_sys::tree::{self, Replace};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

pub(super) struct Report {
    path: PathBuf,
    to: To,
}

enum To {
    /// A name in a directory that is held open.
    Name(OwnedFd, OsString),
    /// A pipe or a terminal, which cannot be replaced; held open.
    Stream(File),
}

impl Report {
    /// Before anything runs: a report that cannot be written would be missed only at the end.
    pub(super) fn prepare(path: &Path) -> Result<Self, Failure> {
        let to = to(path).map_err(|error| failed(path, &error))?;
        Ok(Self { path: path.to_owned(), to })
    }

    pub(super) fn write(self, text: &str) -> Result<(), Failure> {
        let written = match self.to {
            To::Stream(mut file) => file.write_all(text.as_bytes()).and_then(|()| file.flush()),
            To::Name(directory, name) => aside(&directory, |aside, mut file| {
                file.write_all(text.as_bytes())?;
                tree::rename(directory.as_fd(), aside, directory.as_fd(), &name, Replace::Existing)
            }),
        };
        written.map_err(|error| failed(&self.path, &error))
    }
}

fn to(path: &Path) -> io::Result<To> {
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return File::options().write(true).open(path).map(To::Stream);
    }
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = tree::open_root(&parent.canonicalize()?)?;
    // To see that it can be done.
    aside(&directory, |_, _| Ok(()))?;
    Ok(To::Name(directory, name))
}

/// A file of a name that nobody can guess, which is gone afterwards if it still has that name.
fn aside(directory: &OwnedFd, work: impl FnOnce(&OsStr, File) -> io::Result<()>) -> io::Result<()> {
    let name = OsString::from(format!(".polder-report-{}", github::token()?));
    let file = tree::create_file(directory.as_fd(), &name, 0o644)?;
    let done = work(&name, file);
    match tree::remove_file(directory.as_fd(), &name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => done.and(Err(error)),
        _ => done,
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write `{}`: {error}", path.display()))
}
