//! Bytes to and from a daemon, with a deadline over all of them together.

use super::deadline::Deadline;
use super::error::ApiError;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long a daemon may take to accept.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// One connection. Reads ahead, and hands what it read ahead to whoever takes the connection over.
pub(super) struct Connection {
    stream: UnixStream,
    deadline: Deadline,
    ahead: Vec<u8>,
    /// How much of `ahead` was taken.
    taken: usize,
}

/// How much is read at once.
const CHUNK_BYTES: usize = 16 * 1024;

impl Connection {
    /// Connects, and looks at who listens: root, or the caller. Anybody else could read and change everything.
    pub(super) fn open(socket: &Path, caller: u32, deadline: Deadline) -> Result<Self, ApiError> {
        let failed = |error| ApiError::connecting(socket, error);
        let patience = deadline.left().map_err(failed)?.min(CONNECT_MAX);
        let stream = polder_sys::connect_local(socket, patience).map_err(failed)?;
        let uid = polder_sys::peer_uid(stream.as_fd()).map_err(failed)?;
        if uid != 0 && uid != caller {
            return Err(ApiError::Stranger { socket: socket.to_owned(), uid });
        }
        Ok(Self { stream, deadline, ahead: Vec::new(), taken: 0 })
    }

    /// Whether something can be read, or the end, within this time and the deadline.
    pub(super) fn is_ready(&self, patience: Duration) -> io::Result<bool> {
        if self.taken < self.ahead.len() {
            return Ok(true);
        }
        let patience = self.deadline.left()?.min(patience);
        polder_sys::wait::readable(&[Some(self.stream.as_fd())], Some(patience)).map(|ready| ready == [true])
    }

    /// The next byte that is not taken, read if need be; `None` at the end.
    pub(super) fn byte(&mut self) -> io::Result<Option<u8>> {
        if self.taken == self.ahead.len() && self.fill()? == 0 {
            return Ok(None);
        }
        let byte = self.ahead[self.taken];
        self.taken += 1;
        Ok(Some(byte))
    }

    fn fill(&mut self) -> io::Result<usize> {
        self.ahead.resize(CHUNK_BYTES, 0);
        self.taken = 0;
        let answer = timed_read(&mut self.stream, self.deadline, &mut self.ahead);
        self.ahead.truncate(*answer.as_ref().unwrap_or(&0));
        answer
    }

    /// The socket, and what was read from it and not taken.
    pub(super) fn into_parts(self) -> (UnixStream, Vec<u8>) {
        let Self { stream, ahead, taken, .. } = self;
        (stream, ahead[taken..].to_vec())
    }
}

fn timed_read(stream: &mut UnixStream, deadline: Deadline, into: &mut [u8]) -> io::Result<usize> {
    loop {
        stream.set_read_timeout(Some(deadline.left()?))?;
        match stream.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(io::ErrorKind::TimedOut.into()),
            answer => return answer,
        }
    }
}

impl Read for Connection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.ahead.len() && self.fill()? == 0 {
            return Ok(0);
        }
        let rest = &self.ahead[self.taken..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.deadline.left()?))?;
        match self.stream.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::TimedOut.into()),
            answer => answer,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
