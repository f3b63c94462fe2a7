//! An archive as daemons take it: the form of GNU tar, which has room for names of any length. Pure.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Everything is in blocks of this size.
pub(super) const BLOCK_BYTES: usize = 512;
/// What ends an archive.
pub(super) const END: [u8; 2 * BLOCK_BYTES] = [0; 2 * BLOCK_BYTES];

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    File { size_bytes: u64 },
    Directory,
    Link { to: Vec<u8> },
}

/// The blocks before an entry's content. Everything belongs to root, as daemons make it anyway.
pub(super) fn head(path: &Path, what: &What, mode: u32, modified: i64) -> Vec<u8> {
    let mut name = path.as_os_str().as_bytes().to_vec();
    let (kind, size, to) = match what {
        What::File { size_bytes } => (b'0', *size_bytes, &[][..]),
        What::Directory => (b'5', 0, &[][..]),
        What::Link { to } => (b'2', 0, to.as_slice()),
    };
    if *what == What::Directory {
        name.push(b'/');
    }
    let mut blocks = Vec::new();
    if to.len() > 100 {
        blocks.extend(long(b'K', to));
    }
    if name.len() > 100 {
        blocks.extend(long(b'L', &name));
    }
    blocks.extend_from_slice(&block(&name, kind, size, to, mode, modified));
    blocks
}

/// How many zeroes follow a content of this size.
pub(super) fn padding(size_bytes: u64) -> usize {
    let over = usize::try_from(size_bytes % BLOCK_BYTES as u64).unwrap_or(0);
    if over == 0 { 0 } else { BLOCK_BYTES - over }
}

/// An entry whose content is the name or the target of the next one.
fn long(kind: u8, text: &[u8]) -> Vec<u8> {
    let size = text.len() as u64 + 1;
    let mut blocks = block(b"././@LongLink", kind, size, &[], 0, 0).to_vec();
    blocks.extend_from_slice(text);
    blocks.push(0);
    blocks.resize(blocks.len() + padding(size), 0);
    blocks
}

fn block(name: &[u8], kind: u8, size: u64, to: &[u8], mode: u32, modified: i64) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    let mut put = |at: usize, room: usize, bytes: &[u8]| {
        let count = bytes.len().min(room);
        block[at..at + count].copy_from_slice(&bytes[..count]);
    };
    put(0, 100, name);
    put(100, 8, format!("{:07o}\0", mode & 0o777).as_bytes());
    put(108, 8, b"0000000\0");
    put(116, 8, b"0000000\0");
    put(124, 12, &number(size));
    put(136, 12, &number(u64::try_from(modified).unwrap_or(0)));
    put(148, 8, b"        ");
    put(156, 1, &[kind]);
    put(157, 100, to);
    put(257, 8, b"ustar  \0");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Octal where it fits, else the form that GNU tar has for large numbers.
fn number(value: u64) -> [u8; 12] {
    let mut field = [0; 12];
    if value < 1 << 33 {
        field.copy_from_slice(format!("{value:011o}\0").as_bytes());
    } else {
        field[0] = 0x80;
        field[4..].copy_from_slice(&value.to_be_bytes());
    }
    field
}

#[cfg(test)]
mod tests;
