//! Comparing and reading contents, without ever holding more than a review can show.

use crate::change::Node;
use crate::read::{open_host_file, open_own_file};
use polder_sys::tree::data_after;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;

const BLOCK_BYTES: usize = 64 * 1024;

/// Whether the file of the layer has the content of that of the tree. Holes are not read.
pub(crate) fn same_content(
    upper: BorrowedFd<'_>,
    lower: BorrowedFd<'_>,
    name: &OsStr,
    before: &Node,
    after: &Node,
) -> io::Result<bool> {
    if before.stat.size != after.stat.size {
        return Ok(false);
    }
    if before.stat.size == 0 {
        return Ok(true);
    }
    let old = match open_host_file(lower, name) {
        Ok(old) => old,
        // What the caller cannot read, it cannot compare: the change is shown.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
        Err(error) => return Err(error),
    };
    same_bytes(&old, &open_own_file(upper, name)?, before.stat.size)
}

fn same_bytes(old: &File, new: &File, size: u64) -> io::Result<bool> {
    let (mut left, mut right) = (vec![0_u8; BLOCK_BYTES], vec![0_u8; BLOCK_BYTES]);
    let mut at = 0;
    while at < size {
        if size > BLOCK_BYTES as u64 {
            // Where both have a hole there is nothing to compare.
            let next =
                [data_after(old, at)?, data_after(new, at)?].into_iter().flatten().map(|range| range.start).min();
            match next {
                Some(next) => at = next.max(at),
                None => return Ok(true),
            }
        }
        let wanted = BLOCK_BYTES.min(usize::try_from(size.saturating_sub(at)).unwrap_or(BLOCK_BYTES));
        let (left, right) = (&mut left[..wanted], &mut right[..wanted]);
        if old.read_exact_at(left, at).is_err() || new.read_exact_at(right, at).is_err() || left != right {
            return Ok(false);
        }
        at += wanted as u64;
    }
    Ok(true)
}

/// A fingerprint of what an open file has, for files of a known and bounded size.
pub(crate) fn fingerprint(file: &File, size: u64) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut block = vec![0_u8; BLOCK_BYTES];
    let mut at = 0;
    while at < size {
        let got = file.read_at(&mut block, at)?;
        if got == 0 {
            break;
        }
        hash.update(&block[..got]);
        at += got as u64;
    }
    Ok(hash.finalize().into())
}

/// A mark of what a file of any size holds. Zeros count by their place alone, so that holes are not read and a copy
/// with other holes has the same mark.
pub(crate) fn content_mark(file: &File) -> io::Result<[u8; 32]> {
    let size = file.metadata()?.len();
    let (mut hash, mut block) = (Sha256::new(), vec![0_u8; BLOCK_BYTES]);
    let mut at = 0;
    while at < size {
        let Some(data) = data_after(file, at)? else { break };
        // Blocks begin at multiples of their size, wherever the data does.
        at = data.start.max(at) / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
        let wanted = BLOCK_BYTES.min(usize::try_from(size.saturating_sub(at)).unwrap_or(BLOCK_BYTES));
        let got = read_up_to(file, &mut block[..wanted], at)?;
        add_block(&mut hash, at, &block[..got]);
        at += BLOCK_BYTES as u64;
    }
    hash.update(size.to_le_bytes());
    Ok(hash.finalize().into())
}

/// The same for content in memory.
pub(crate) fn content_mark_of(bytes: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for (index, block) in bytes.chunks(BLOCK_BYTES).enumerate() {
        add_block(&mut hash, (index * BLOCK_BYTES) as u64, block);
    }
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.finalize().into()
}

fn add_block(hash: &mut Sha256, at: u64, block: &[u8]) {
    let end = block.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    if end > 0 {
        hash.update(at.to_le_bytes());
        hash.update((end as u64).to_le_bytes());
        hash.update(&block[..end]);
    }
}

fn read_up_to(file: &File, block: &mut [u8], at: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < block.len() {
        match file.read_at(&mut block[got..], at + got as u64)? {
            0 => break,
            more => got += more,
        }
    }
    Ok(got)
}

/// All bytes of a file that has no more than `max`.
pub(crate) fn read_bounded(file: &File, max: u64) -> io::Result<Option<Vec<u8>>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max).then_some(bytes))
}
