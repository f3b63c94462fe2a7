//! Paths as the shim needs them: in a buffer of fixed size, and followed to where they lead.
//!
//! Runs in a cloned process: no allocation, no locks, no formatting.

use super::notify::PATH_BYTES_MAX;
use super::observer::descriptor_path;
use std::ffi::CStr;
use std::os::fd::RawFd;

/// The kernel's own limit on symbolic links in one lookup.
const LINKS_MAX: usize = 40;

/// A text that always ends in NUL.
pub(super) struct Text {
    bytes: [u8; PATH_BYTES_MAX],
    len: usize,
}

impl Text {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; PATH_BYTES_MAX], len: 0 }
    }

    /// A text that begins like this, if there is room for it.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut text = Self::new();
        text.push(bytes)?;
        Some(text)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(super) fn c(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).expect("invariant: one byte more than the text is zero")
    }

    /// Adds something, if there is room for it and for the NUL.
    pub(super) fn push(&mut self, part: &[u8]) -> Option<()> {
        let end = self.len + part.len();
        if end >= PATH_BYTES_MAX {
            return None;
        }
        self.bytes[self.len..end].copy_from_slice(part);
        self.bytes[end] = 0;
        self.len = end;
        Some(())
    }

    fn cut(&mut self, len: usize) {
        self.len = len;
        self.bytes[len] = 0;
    }

    /// The directory that the last name is in, spelt so that a link at the end of it is followed.
    pub(super) fn parent(&self) -> Option<Self> {
        let end = self.bytes().iter().rposition(|byte| *byte != b'/')? + 1;
        let slash = self.bytes()[..end].iter().rposition(|byte| *byte == b'/')?;
        Self::from_bytes(&self.bytes()[..=slash])
    }

    /// The same without slashes at the end.
    pub(super) fn without_slashes(mut self) -> Self {
        let end = self.bytes().iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        self.cut(end);
        self
    }

    /// Takes the last name away.
    fn pop(&mut self) {
        let slash = self.bytes().iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        self.cut(slash);
    }
}

/// Where a path of the caller leads inside: absolute, without links, dots and doubled slashes, as far as it exists; the
/// rest as it was written. A link in the last place is followed only if asked.
pub(super) fn resolve(pid: u32, dir: RawFd, path: &[u8], follow: bool) -> Option<Text> {
    let mut done = Text::new();
    if path.first() != Some(&b'/') {
        let got = descriptor_path(pid, dir, &mut done.bytes)?;
        done.cut(if got == 1 { 0 } else { got });
    }
    let mut rest = Text::from_bytes(path)?;
    let (mut next, mut links, mut exists) = (0, 0, true);
    while let Some((name, after)) = component(rest.bytes(), next) {
        let is_last = component(rest.bytes(), after).is_none();
        let name = (name.start, name.end);
        next = after;
        match &rest.bytes()[name.0..name.1] {
            b"." => continue,
            b".." => {
                done.pop();
                continue;
            }
            name => {
                done.push(b"/")?;
                done.push(name)?;
            }
        }
        if !exists || (is_last && !follow) {
            continue;
        }
        let mut target = [0u8; PATH_BYTES_MAX];
        // SAFETY: the buffer is valid for its length.
        let got = unsafe { libc::readlink(done.c().as_ptr(), target.as_mut_ptr().cast(), target.len() - 1) };
        match usize::try_from(got) {
            Ok(got) => {
                links += 1;
                if links > LINKS_MAX {
                    return None;
                }
                done.pop();
                if target[0] == b'/' {
                    done.cut(0);
                }
                let mut longer = Text::new();
                longer.push(&target[..got])?;
                longer.push(b"/")?;
                longer.push(&rest.bytes()[next..])?;
                rest = longer;
                next = 0;
            }
            // Not a link goes on; what is missing has nothing behind it.
            Err(_) => exists = super::call::Errno::last().0 == libc::EINVAL,
        }
    }
    if done.len == 0 {
        done.push(b"/")?;
    }
    Some(done)
}

/// The next name at or after a place, and the place after it.
fn component(bytes: &[u8], from: usize) -> Option<(std::ops::Range<usize>, usize)> {
    let start = from + bytes.get(from..)?.iter().position(|byte| *byte != b'/')?;
    let end = bytes[start..].iter().position(|byte| *byte == b'/').map_or(bytes.len(), |slash| start + slash);
    Some((start..end, end))
}

#[cfg(test)]
mod tests;
