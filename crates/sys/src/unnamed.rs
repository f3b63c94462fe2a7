//! Files without a name, for systems that have none.

use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) fn create(_directory: &Path) -> io::Result<File> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

pub(crate) fn link(_file: &File, _name: &Path) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
