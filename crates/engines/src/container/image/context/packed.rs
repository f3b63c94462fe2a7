//! The archive of a build's files, made while it is read, and a digest of everything that went into it.

use super::{Context, open_below};
use crate::container::image::tar::{self, What};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The archive.
pub(in crate::container::image) struct Packed<'a> {
    context: &'a Context,
    /// How many entries were begun, the written ones last; one more is the end.
    begun: usize,
    /// Blocks that wait to be read.
    ready: Vec<u8>,
    taken: usize,
    /// The file that is being read, and what is left of it.
    file: Option<(File, u64)>,
    /// The zeroes after the file.
    padding: usize,
    /// Everything but times: a file that was only touched makes no other image.
    digest: Sha256,
}

impl<'a> Packed<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        let (ready, digest) = (Vec::new(), Sha256::new());
        Self { context, begun: 0, ready, taken: 0, file: None, padding: 0, digest }
    }

    /// Reads the rest, and says the digest of all of it.
    pub(in crate::container::image) fn digest(mut self) -> io::Result<[u8; 32]> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(self.digest.finalize().into())
    }

    /// Begins the next entry; says whether there was one.
    fn begin(&mut self) -> io::Result<bool> {
        let (entries, written) = (&self.context.entries, &self.context.written);
        self.ready.clear();
        self.taken = 0;
        let number = self.begun;
        if let Some(entry) = entries.get(number) {
            self.note(&entry.path, &entry.what, entry.mode);
            self.ready = tar::head(&entry.path, &entry.what, entry.mode, entry.modified);
            if let What::File { size_bytes } = entry.what {
                let named =
                    |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", entry.path.display()));
                self.file = Some((open_below(&self.context.root, &entry.path).map_err(named)?, size_bytes));
                self.padding = tar::padding(size_bytes);
            }
        } else if let Some((path, content)) = written.get(number - entries.len()) {
            let what = What::File { size_bytes: content.len() as u64 };
            self.note(path, &what, 0o644);
            self.digest.update(content);
            self.ready = tar::head(path, &what, 0o644, 0);
            self.ready.extend_from_slice(content);
            self.ready.resize(self.ready.len() + tar::padding(content.len() as u64), 0);
        } else if number == entries.len() + written.len() {
            self.ready = tar::END.to_vec();
        } else {
            return Ok(false);
        }
        self.begun += 1;
        Ok(true)
    }

    fn note(&mut self, path: &Path, what: &What, mode: u32) {
        let (kind, size, to): (u8, u64, &[u8]) = match what {
            What::File { size_bytes } => (0, *size_bytes, &[]),
            What::Directory => (1, 0, &[]),
            What::Link { to } => (2, to.len() as u64, to),
        };
        let path = path.as_os_str().as_bytes();
        self.digest.update([kind]);
        self.digest.update((mode & 0o777).to_be_bytes());
        // Lengths first, so that no two lists of entries read the same.
        self.digest.update((path.len() as u64).to_be_bytes());
        self.digest.update(path);
        self.digest.update(size.to_be_bytes());
        self.digest.update(to);
    }
}

impl Read for Packed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let waiting = &self.ready[self.taken..];
            if !waiting.is_empty() {
                let count = waiting.len().min(into.len());
                into[..count].copy_from_slice(&waiting[..count]);
                self.taken += count;
                return Ok(count);
            }
            match &mut self.file {
                Some((_, 0)) => {
                    self.file = None;
                    self.ready = vec![0; self.padding];
                    self.taken = 0;
                }
                Some((file, left)) => {
                    let most = into.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    let count = file.read(&mut into[..most])?;
                    if count == 0 && most > 0 {
                        return Err(io::Error::other("a file became shorter while it was read"));
                    }
                    *left -= count as u64;
                    self.digest.update(&into[..count]);
                    return Ok(count);
                }
                None => {
                    if !self.begin()? {
                        return Ok(0);
                    }
                }
            }
        }
    }
}
