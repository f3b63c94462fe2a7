//! The body of an answer, as a reader that ends where the body ends and never gives more than was agreed.

use super::connection::Connection;
use super::head::Framing;
use std::io::{self, Read};
use std::time::Duration;

/// The longest line that announces a chunk; extensions are allowed and ignored.
const CHUNK_LINE_BYTES_MAX: usize = 256;
/// The longest list of headers after the last chunk.
const TRAILER_BYTES_MAX: usize = 16 * 1024;

/// A body that is read.
pub(super) struct Body {
    connection: Connection,
    state: State,
    /// How many bytes may still come.
    allowance: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// This many bytes to the end of the body.
    Plain(u64),
    /// To the end of the connection.
    ToTheEnd,
    /// This many bytes to the end of a chunk.
    InChunk(u64),
    /// Before the line that announces a chunk; the end of the last chunk's line was read.
    BeforeChunk,
    Done,
}

impl Body {
    pub(super) fn new(connection: Connection, framing: Framing, limit_bytes: u64) -> Self {
        let state = match framing {
            Framing::Empty => State::Done,
            Framing::Length(bytes) => State::Plain(bytes),
            Framing::Chunked => State::BeforeChunk,
            // After an upgrade the stream is a body to the end, for those who only read.
            Framing::ToTheEnd | Framing::Upgraded => State::ToTheEnd,
        };
        Self { connection, state, allowance: limit_bytes }
    }

    /// Whether something of it can be read, or its end, within this time.
    pub(super) fn is_ready(&mut self, patience: Duration) -> io::Result<bool> {
        match self.state {
            State::Done | State::Plain(0) => return Ok(true),
            // The end of a chunk comes with the chunk and says nothing about the next one.
            State::InChunk(0) if self.connection.is_ready(patience)? => self.end_chunk()?,
            State::InChunk(_) | State::Plain(_) | State::ToTheEnd | State::BeforeChunk => {}
        }
        self.connection.is_ready(patience)
    }

    fn end_chunk(&mut self) -> io::Result<()> {
        if !self.line(0)?.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a chunk without an end"));
        }
        self.state = State::BeforeChunk;
        Ok(())
    }

    fn announced(&mut self) -> io::Result<u64> {
        let line = self.line(CHUNK_LINE_BYTES_MAX)?;
        let size = line.split(';').next().unwrap_or_default().trim_end();
        let plain = (1..=15).contains(&size.len()) && size.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain
            .then(|| u64::from_str_radix(size, 16).ok())
            .flatten()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a strange chunk"))
    }

    fn line(&mut self, limit_bytes: usize) -> io::Result<String> {
        let mut line = Vec::new();
        loop {
            match self.connection.byte()? {
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(b'\n') if line.last() == Some(&b'\r') => {
                    line.pop();
                    return String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into());
                }
                Some(byte) => line.push(byte),
            }
            // The end of the line is not counted, and half of it may be here.
            if line.len() > limit_bytes + 1 {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line without an end"));
            }
        }
    }

    fn trailers(&mut self) -> io::Result<()> {
        let mut left = TRAILER_BYTES_MAX;
        loop {
            let line = self.line(left)?;
            if line.is_empty() {
                return Ok(());
            }
            left = left.saturating_sub(line.len() + 2);
        }
    }
}

impl Read for Body {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let ready = loop {
            match self.state {
                State::Done | State::Plain(0) => return Ok(0),
                State::Plain(left) | State::InChunk(left) if left > 0 => break left,
                State::ToTheEnd => break u64::MAX,
                State::InChunk(_) | State::Plain(_) => self.end_chunk()?,
                State::BeforeChunk => match self.announced()? {
                    0 => {
                        self.trailers()?;
                        self.state = State::Done;
                    }
                    size => self.state = State::InChunk(size),
                },
            }
        };
        // One byte more than is allowed is enough to see that there is more.
        let most = ready.min(self.allowance.saturating_add(1)).min(into.len() as u64);
        let into = &mut into[..usize::try_from(most).expect("invariant: no more than the length of a slice")];
        let count = self.connection.read(into)?;
        if count as u64 > self.allowance {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.allowance -= count as u64;
        match &mut self.state {
            State::Plain(left) | State::InChunk(left) if count > 0 => *left -= count as u64,
            State::Plain(_) | State::InChunk(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            State::ToTheEnd | State::BeforeChunk | State::Done => {}
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
