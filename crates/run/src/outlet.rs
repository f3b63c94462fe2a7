//! Writing to a descriptor of the caller's without ever waiting for its reader.
//!
//! The descriptor's flags belong to the caller: a private description is opened where the kernel
//! allows that, and where it does not, no write is larger than the kernel takes without waiting.

use polder_sys::streams::{self, Direction, StreamKind};
use polder_sys::wait;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

/// Bytes that wait for a reader before polder takes more from the command.
const PENDING_BYTES_MAX: usize = 64 * 1024;
/// A write that a pipe takes at once when it says that it can be written; see pipe(7).
const PIPE_STEP_BYTES: usize = 4096;
/// The same for a terminal, whose line discipline says so while fewer bytes than this are waiting.
const TERMINAL_STEP_BYTES: usize = 256;

/// One of the caller's descriptors, and the bytes that it has not taken yet.
#[derive(Debug)]
pub(crate) struct Outlet {
    file: File,
    kind: StreamKind,
    step_bytes: usize,
    pending: Vec<u8>,
    /// How much of `pending` was written.
    written: usize,
    state: OutletState,
}

/// Whether bytes still go anywhere.
#[derive(Debug)]
enum OutletState {
    Open,
    /// The reader is gone.
    Closed,
    /// The file cannot take what was written.
    Failed(io::Error),
}

impl Outlet {
    pub(crate) fn new(fd: OwnedFd, kind: StreamKind) -> Self {
        let opened = match kind {
            StreamKind::Pipe | StreamKind::Terminal | StreamKind::Device => {
                streams::private(fd.as_fd(), Direction::Write).ok()
            }
            // A socket has `MSG_DONTWAIT`; a file's position is shared with the caller on purpose.
            StreamKind::Socket | StreamKind::File | StreamKind::Null => None,
        };
        let step_bytes = match kind {
            StreamKind::Pipe if opened.is_none() => PIPE_STEP_BYTES,
            StreamKind::Terminal if opened.is_none() => TERMINAL_STEP_BYTES,
            _ => usize::MAX,
        };
        let file = File::from(opened.unwrap_or(fd));
        Self { file, kind, step_bytes, pending: Vec::new(), written: 0, state: OutletState::Open }
    }

    /// What to wait for when bytes are pending.
    pub(crate) fn awaited(&self) -> Option<(BorrowedFd<'_>, Direction)> {
        (self.pending_bytes() > 0).then(|| (self.file.as_fd(), Direction::Write))
    }

    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending.len() - self.written
    }

    /// Whether the reader has to take something before there is more.
    pub(crate) fn is_full(&self) -> bool {
        self.pending_bytes() >= PENDING_BYTES_MAX
    }

    /// Whether bytes still go anywhere.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, OutletState::Open)
    }

    /// Whether bytes can be moved here from a pipe without being copied.
    pub(crate) fn is_free_pipe(&self) -> bool {
        self.kind == StreamKind::Pipe && self.is_open() && self.pending_bytes() == 0
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Takes the failure that ended it, if there was one.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        match std::mem::replace(&mut self.state, OutletState::Closed) {
            OutletState::Failed(error) => Some(error),
            other @ (OutletState::Open | OutletState::Closed) => {
                self.state = other;
                None
            }
        }
    }

    /// Writes what the reader takes now, and keeps the rest.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if self.is_open() {
            self.pending.extend_from_slice(bytes);
            self.flush();
        }
    }

    /// Writes what the reader takes now of what is pending.
    pub(crate) fn flush(&mut self) {
        while self.is_open() && self.pending_bytes() > 0 {
            if self.step_bytes != usize::MAX && !self.takes_a_step() {
                break;
            }
            let rest = &self.pending[self.written..];
            let step = &rest[..rest.len().min(self.step_bytes)];
            let put = match self.kind {
                StreamKind::Socket => streams::send(self.file.as_fd(), step),
                _ => self.file.write(step),
            };
            match put {
                Ok(put) => self.written += put,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => self.fail(error),
            }
        }
        if self.pending_bytes() == 0 || !self.is_open() {
            self.pending.clear();
            self.written = 0;
        }
    }

    /// Whether a descriptor without a description of our own takes a step without waiting.
    fn takes_a_step(&self) -> bool {
        let look = wait::ready(&[Some((self.file.as_fd(), Direction::Write))], Some(Duration::ZERO));
        look.is_ok_and(|ready| ready == [true])
    }

    /// Ends it for the reason that a call gave.
    pub(crate) fn fail(&mut self, error: io::Error) {
        let gone = matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
            // A terminal that hung up.
            || (self.kind == StreamKind::Terminal && error.raw_os_error() == Some(EIO));
        self.state = if gone { OutletState::Closed } else { OutletState::Failed(error) };
    }
}

const EIO: i32 = 5;

/// A descriptor of the caller's to which a sink writes what it makes of events. The watch waits
/// with the command's output while the reader does not take it.
#[derive(Clone, Debug)]
pub struct EventOutlet(Rc<RefCell<Outlet>>);

impl EventOutlet {
    /// For a descriptor that can be a stream.
    pub fn new(fd: OwnedFd) -> Result<Self, crate::StreamError> {
        let kind = crate::streams::judge(fd.as_fd(), crate::streams::StreamName::Output)?;
        Ok(Self(Rc::new(RefCell::new(Outlet::new(fd, kind)))))
    }

    /// Writes, without waiting for a reader. An error means that the reader is gone, or that the
    /// file takes no more.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut outlet = self.0.borrow_mut();
        outlet.write(bytes);
        if outlet.is_open() {
            return Ok(());
        }
        Err(outlet.take_failure().unwrap_or_else(|| ErrorKind::BrokenPipe.into()))
    }

    /// Waits until the reader has taken everything. `patience` says how long to wait each time; where
    /// it says nothing, the reader counts as gone.
    pub fn finish(&self, patience: &dyn Fn() -> Option<Duration>) -> io::Result<()> {
        let mut outlet = self.0.borrow_mut();
        while let Some(awaited) = outlet.awaited() {
            let Some(span) = patience() else {
                outlet.fail(ErrorKind::BrokenPipe.into());
                outlet.flush();
                return Err(ErrorKind::BrokenPipe.into());
            };
            wait::ready(&[Some(awaited)], Some(span))?;
            outlet.flush();
        }
        outlet.take_failure().map_or(Ok(()), Err)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.0.borrow().is_full()
    }

    pub(crate) fn flush(&self) {
        self.0.borrow_mut().flush();
    }

    /// A descriptor of our own to wait on, where something is pending.
    pub(crate) fn awaited(&self) -> Option<OwnedFd> {
        let outlet = self.0.borrow();
        outlet.awaited().and_then(|(fd, _)| fd.try_clone_to_owned().ok())
    }
}
