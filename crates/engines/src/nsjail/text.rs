//! The text form of protocol buffers, as far as a configuration needs it: fields, messages, and strings of any bytes.

use std::ffi::OsStr;
use std::fmt::{self, Write};
use std::os::unix::ffi::OsStrExt;

/// A text that grows field by field.
#[derive(Debug)]
pub(super) struct Text(String);

impl Text {
    pub(super) fn new() -> Self {
        Self(String::new())
    }

    /// A number, a truth or a name of an enumeration.
    pub(super) fn word(&mut self, field: &str, value: impl fmt::Display) {
        self.line(format_args!("{field}: {value}"));
    }

    pub(super) fn string(&mut self, field: &str, value: impl AsRef<OsStr>) {
        self.line(format_args!("{field}: {}", Quoted(value.as_ref().as_bytes())));
    }

    /// A message on a line of its own.
    pub(super) fn message(&mut self, field: &str, parts: &[Part<'_>]) {
        let mut line = format!("{field} {{");
        for part in parts {
            let written = match part {
                Part::String(field, value) => write!(line, " {field}: {}", Quoted(value.as_bytes())),
                Part::Word(field, value) => write!(line, " {field}: {value}"),
            };
            written.expect("invariant: writing to a string does not fail");
        }
        self.line(format_args!("{line} }}"));
    }

    pub(super) fn finish(self) -> String {
        self.0
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("invariant: writing to a string does not fail");
    }
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'a> {
    String(&'static str, &'a OsStr),
    Word(&'static str, &'a str),
}

/// A string literal: whatever is not plain ASCII is written in octal, with all three digits, so that a digit behind it
/// is not taken for a part of it.
struct Quoted<'a>(&'a [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for byte in self.0 {
            match byte {
                b'"' | b'\\' => write!(f, "\\{}", char::from(*byte))?,
                b' '..=b'~' => f.write_char(char::from(*byte))?,
                _ => write!(f, "\\{byte:03o}")?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests;
