//! The head of an answer: status, and the few headers that say how the body ends.

use super::connection::Connection;
use std::io;

/// The longest head that is read.
pub(super) const HEAD_BYTES_MAX: u64 = 64 * 1024;
/// How many answers before the real one (`100 Continue`) are read over.
const INTERIM_MAX: u32 = 4;

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) framing: Framing,
    /// What the daemon calls the version of its interface, where it says so.
    pub(super) api_version: Option<String>,
    /// What serves the interface, in its own words.
    pub(super) server: Option<String>,
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    Empty,
    /// After this many bytes.
    Length(u64),
    /// With an empty chunk.
    Chunked,
    /// With the connection.
    ToTheEnd,
    /// Never: from here on the connection is a stream in both directions.
    Upgraded,
}

/// Why a head could not be read.
#[derive(Debug)]
pub(super) enum HeadError {
    Io(io::Error),
    Garbled(&'static str),
    TooLong,
}

impl Head {
    /// Reads the head of the answer to a request.
    pub(super) fn read(connection: &mut Connection) -> Result<Self, HeadError> {
        for _ in 0..INTERIM_MAX {
            let head = Self::parse(&block(connection)?).map_err(HeadError::Garbled)?;
            if head.status >= 200 || head.status == 101 {
                return Ok(head);
            }
        }
        Err(HeadError::Garbled("too many interim answers"))
    }

    /// Reads a status line and headers, without the empty line.
    pub(super) fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(text).map_err(|_| "the head is not text")?;
        let mut lines = text.split("\r\n");
        let status = status(lines.next().unwrap_or_default()).ok_or("no status line")?;
        let (mut length, mut chunked) = (None, false);
        let mut head = Self { status, framing: Framing::ToTheEnd, api_version: None, server: None };
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or("a header without a colon")?;
            // A line that goes on from the one before, or a name with a space, is how two readers come to differ.
            if name.is_empty() || name.contains(|c: char| c.is_ascii_whitespace() || c.is_control()) {
                return Err("a header with a strange name");
            }
            let value = value.trim_matches([' ', '\t']);
            match name.to_ascii_lowercase().as_str() {
                "content-length" => {
                    let bytes = decimal(value).ok_or("a strange length")?;
                    if length.is_some_and(|other| other != bytes) {
                        return Err("two lengths");
                    }
                    length = Some(bytes);
                }
                "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => chunked = true,
                "transfer-encoding" => return Err("an unknown transfer encoding"),
                "api-version" => head.api_version = Some(value.to_owned()),
                "server" => head.server = Some(value.to_owned()),
                _ => {}
            }
        }
        head.framing = match (status, chunked, length) {
            (101, ..) => Framing::Upgraded,
            (100..=199 | 204 | 304, ..) => Framing::Empty,
            (_, true, Some(_)) => return Err("a length beside chunks"),
            (_, true, None) => Framing::Chunked,
            (_, false, Some(bytes)) => Framing::Length(bytes),
            (_, false, None) => Framing::ToTheEnd,
        };
        Ok(head)
    }
}

/// Everything up to the empty line, without it.
fn block(connection: &mut Connection) -> Result<Vec<u8>, HeadError> {
    let mut block = Vec::new();
    loop {
        match connection.byte().map_err(HeadError::Io)? {
            Some(byte) => block.push(byte),
            None if block.is_empty() => return Err(HeadError::Io(io::ErrorKind::UnexpectedEof.into())),
            None => return Err(HeadError::Garbled("the head has no end")),
        }
        if block.ends_with(b"\r\n\r\n") {
            block.truncate(block.len() - 4);
            return Ok(block);
        }
        if block.len() as u64 >= HEAD_BYTES_MAX {
            return Err(HeadError::TooLong);
        }
    }
}

fn status(line: &str) -> Option<u16> {
    let rest = line.strip_prefix("HTTP/1.1 ").or_else(|| line.strip_prefix("HTTP/1.0 "))?;
    let digits = rest.split(' ').next()?;
    let number = (digits.len() == 3).then(|| decimal(digits)).flatten()?;
    u16::try_from(number).ok().filter(|status| (100..=599).contains(status))
}

/// A number in plain digits: a sign or a space would be a second way to write it.
pub(super) fn decimal(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
