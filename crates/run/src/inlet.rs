//! The caller's standard input, carried into a pipe of the sandbox's own.
//!
//! The caller may go on reading where the command stopped (`while read …; do polder run …; done`),
//! so polder takes as little as it can: a file's position is put back to the first byte that the
//! command did not read, and the first bytes of a pipe stay in it until the command has read them.

use crate::relay::side_to_wait_for;
use polder_sys::streams::{self, Direction, StreamKind};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// A pipe of this size has room for one write, so that it can be written exactly when it is empty.
const ONE_PAGE_BYTES: usize = 4096;
/// A command that has read this much of a pipe is taken to read it to its end.
const SHOWN_BYTES_MAX: usize = 64 * 1024;

/// Bytes on their way from the caller's standard input to the command's.
pub(crate) struct Inlet {
    from: File,
    way: Way,
    /// Our end of the command's pipe; absent once the input has ended.
    to: Option<File>,
    /// The command's end of the pipe, held to count the bytes that it did not read.
    theirs: OwnedFd,
    pending: Vec<u8>,
    written: usize,
}

/// How bytes get across.
enum Way {
    /// By reading and writing.
    Copied { kind: StreamKind },
    /// From pipe to pipe, as long as the command may not want the rest: shown, and taken from the
    /// caller's pipe once the command has read them.
    Shown { waiting: usize, read: usize },
    /// From pipe to pipe. `awaited` is the side that was not ready.
    Moved { awaited: Direction },
}

impl Inlet {
    /// `theirs` and `to` are the two ends of the command's new pipe.
    pub(crate) fn new(from: OwnedFd, kind: StreamKind, theirs: OwnedFd, to: OwnedFd) -> io::Result<Self> {
        streams::never_wait(to.as_fd())?;
        let way = match kind {
            StreamKind::Pipe => {
                streams::set_pipe_bytes(to.as_fd(), ONE_PAGE_BYTES)?;
                Way::Shown { waiting: 0, read: 0 }
            }
            kind => Way::Copied { kind },
        };
        let from = match kind {
            StreamKind::Terminal | StreamKind::Device => {
                streams::private(from.as_fd(), Direction::Read).unwrap_or(from)
            }
            _ => from,
        };
        Ok(Self { from: from.into(), way, to: Some(to.into()), theirs, pending: Vec::new(), written: 0 })
    }

    /// What to wait for; absent when the input has ended, or while the terminal belongs to another
    /// job of the caller's.
    pub(crate) fn awaited(&self) -> Option<(BorrowedFd<'_>, Direction)> {
        let to = self.to.as_ref()?;
        let reads = Some((self.from.as_fd(), Direction::Read));
        let writes = Some((to.as_fd(), Direction::Write));
        match &self.way {
            Way::Copied { .. } if self.pending.len() > self.written => writes,
            // A file can always be read: there must be room for it.
            Way::Copied { kind: StreamKind::File } => writes,
            Way::Copied { kind: StreamKind::Terminal } if !streams::is_foreground(self.from.as_fd()) => None,
            Way::Copied { .. } => reads,
            Way::Shown { waiting: 0, .. } => reads,
            Way::Shown { .. } => writes,
            Way::Moved { awaited: Direction::Read } => reads,
            Way::Moved { awaited: Direction::Write } => writes,
        }
    }

    /// Whether the terminal belongs to another job, so that the caller has to look again later.
    pub(crate) fn is_in_background(&self) -> bool {
        self.to.is_some() && self.is_terminal() && !streams::is_foreground(self.from.as_fd())
    }

    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.way, Way::Copied { kind: StreamKind::Terminal })
    }

    /// Takes one step; an end of either side ends the input.
    pub(crate) fn step(&mut self) {
        let Some(to) = &mut self.to else { return };
        let done = match &mut self.way {
            Way::Copied { kind } => copy(&mut self.from, *kind, to, &mut self.pending, &mut self.written),
            Way::Shown { waiting, read } => {
                // The command's pipe is empty, so the command has read what it was shown.
                let taken = discard(&mut self.from, *waiting);
                *read += std::mem::take(waiting);
                if *read >= SHOWN_BYTES_MAX {
                    self.way = Way::Moved { awaited: Direction::Read };
                    // A smaller pipe is only slower.
                    let _ = streams::set_pipe_bytes(to.as_fd(), CHUNK_BYTES);
                    taken.map(|()| false)
                } else {
                    let shown = taken.and_then(|()| streams::tee(self.from.as_fd(), to.as_fd(), ONE_PAGE_BYTES));
                    shown.map(|shown| {
                        *waiting = shown;
                        shown == 0
                    })
                }
            }
            Way::Moved { awaited } => {
                let moved = streams::splice(self.from.as_fd(), to.as_fd(), CHUNK_BYTES);
                *awaited = side_to_wait_for(self.from.as_fd());
                moved.map(|moved| moved == 0)
            }
        };
        match done {
            Ok(false) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // The command reads no more, or the caller's input cannot be read: for the command both
            // are the end of its input.
            Ok(true) | Err(_) => self.to = None,
        }
    }

    /// Gives back what the command did not read, as far as the caller's input can take it.
    pub(crate) fn finish(mut self) {
        self.to = None;
        let Ok(left) = streams::waiting(self.theirs.as_fd()) else { return };
        match self.way {
            Way::Copied { kind: StreamKind::File } => {
                let unread = left + self.pending.len() - self.written;
                // A block device at its end, or a file that shrank: there is nothing to go back to.
                let _ = streams::step_back(self.from.as_fd(), unread);
            }
            Way::Shown { waiting, .. } => {
                let _ = discard(&mut self.from, waiting.saturating_sub(left));
            }
            Way::Copied { .. } | Way::Moved { .. } => {}
        }
    }
}

/// Reads from the caller and writes to the command; true at the end.
fn copy(
    from: &mut File,
    kind: StreamKind,
    to: &mut File,
    pending: &mut Vec<u8>,
    written: &mut usize,
) -> io::Result<bool> {
    if *written == pending.len() {
        pending.resize(CHUNK_BYTES, 0);
        *written = 0;
        let got = match kind {
            StreamKind::Socket => streams::receive(from.as_fd(), pending),
            _ => from.read(pending),
        };
        pending.truncate(*got.as_ref().unwrap_or(&0));
        if got? == 0 {
            return Ok(true);
        }
    }
    *written += to.write(&pending[*written..])?;
    Ok(false)
}

/// Takes bytes that are there from a pipe.
fn discard(from: &mut File, bytes: usize) -> io::Result<()> {
    io::copy(&mut Read::by_ref(from).take(bytes as u64), &mut io::sink()).map(drop)
}
