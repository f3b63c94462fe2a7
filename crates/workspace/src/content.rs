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

/// All bytes of a file that has no more than `max`.
pub(crate) fn read_bounded(file: &File, max: u64) -> io::Result<Option<Vec<u8>>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max).then_some(bytes))
}
