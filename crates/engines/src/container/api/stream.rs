//! The streams of a container in one connection: what is written goes to its input, what comes back is its output and its
//! error, cut into frames.
//!
//! A frame is a number of the stream, three zeroes, and a length of four bytes, the highest first. A frame is handed on as
//! it comes: its length is the container's to say, and nobody waits for the whole of it.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// Which of a container's two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Stdout,
    Stderr,
}

/// How many bytes stand before a frame.
const FRAME_HEAD_BYTES: usize = 8;

/// Takes frames apart, however the bytes come.
#[derive(Debug)]
pub(crate) struct Demux {
    head: [u8; FRAME_HEAD_BYTES],
    filled: usize,
    /// What is left of a frame.
    left: u32,
}

impl Demux {
    pub(crate) const fn new() -> Self {
        Self { head: [0; FRAME_HEAD_BYTES], filled: 0, left: 0 }
    }

    /// Takes the next bytes apart. After an error nothing that follows can be understood.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], to: &mut dyn FnMut(Channel, &[u8])) -> Result<(), &'static str> {
        while !bytes.is_empty() {
            if self.left == 0 {
                let count = (FRAME_HEAD_BYTES - self.filled).min(bytes.len());
                self.head[self.filled..self.filled + count].copy_from_slice(&bytes[..count]);
                self.filled += count;
                bytes = &bytes[count..];
                if self.filled < FRAME_HEAD_BYTES {
                    return Ok(());
                }
                let [_, a, b, c, length @ ..] = self.head;
                if [a, b, c] != [0; 3] {
                    return Err("a frame without a head");
                }
                self.channel()?;
                self.left = u32::from_be_bytes(length);
                self.filled = 0;
                continue;
            }
            let count = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
            to(self.channel()?, &bytes[..count]);
            self.left -= count as u32;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Whether the stream may end here: between two frames.
    pub(crate) const fn is_between(&self) -> bool {
        self.left == 0 && self.filled == 0
    }

    const fn channel(&self) -> Result<Channel, &'static str> {
        match self.head[0] {
            1 => Ok(Channel::Stdout),
            2 => Ok(Channel::Stderr),
            0 => Err("a frame of the input"),
            3 => Err("an error of the daemon in the middle of the stream"),
            _ => Err("a frame of an unknown stream"),
        }
    }
}

/// A container's streams. Has no deadline: it lasts as long as the command.
#[derive(Debug)]
pub(crate) struct Attached {
    stream: UnixStream,
    /// What came with the answer's head.
    ahead: Vec<u8>,
}

impl Attached {
    pub(super) fn new(stream: UnixStream, ahead: Vec<u8>) -> io::Result<Self> {
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(None)?;
        Ok(Self { stream, ahead })
    }

    /// Whether something can be read without waiting, although the descriptor may not say so.
    pub(crate) fn has_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// A second handle of the same connection, for the thread that writes.
    pub(crate) fn writer(&self) -> io::Result<AttachedInput> {
        self.stream.try_clone().map(AttachedInput)
    }
}

impl Read for Attached {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() {
            return self.stream.read(into);
        }
        let count = self.ahead.len().min(into.len());
        into[..count].copy_from_slice(&self.ahead[..count]);
        self.ahead.drain(..count);
        Ok(count)
    }
}

impl AsFd for Attached {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// A container's input.
#[derive(Debug)]
pub(crate) struct AttachedInput(UnixStream);

impl AttachedInput {
    /// One for a test, on a connection that the test holds the other side of.
    #[cfg(test)]
    pub(crate) fn on(connection: UnixStream) -> Self {
        Self(connection)
    }

    /// Says that nothing more will come; the command reads the end of its input.
    pub(crate) fn close(self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Write)
    }
}

impl Write for AttachedInput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
