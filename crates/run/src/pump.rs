//! Moving bytes between the command and the world, never more than a buffer at a time.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What is read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// One stream that comes out of the sandbox.
pub(crate) struct Source {
    file: Option<File>,
    buffer: Vec<u8>,
}

impl Source {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Self { file: Some(File::from(fd)), buffer: vec![0; CHUNK_BYTES] }
    }

    /// Absent once the stream has ended.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    /// What can be read now; empty at the end.
    pub(crate) fn chunk(&mut self) -> &[u8] {
        let Some(file) = &mut self.file else { return &[] };
        let got = loop {
            match file.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A terminal whose other side is gone says EIO; for a reader that is the end.
                Err(_) => break 0,
                Ok(got) => break got,
            }
        };
        if got == 0 {
            self.file = None;
        }
        &self.buffer[..got]
    }
}

/// Writes everything; an error means that nobody reads any more.
pub(crate) fn write_all(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    // A duplicate, so that the owner keeps its own.
    let mut file = File::from(fd.try_clone_to_owned()?);
    file.write_all(bytes)
}
