//! The bytes of files: copied with their holes, and brought to the disk all at once.

use super::super::call::{Errno, check, check_int};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;

const BUFFER_BYTES: usize = 64 * 1024;

/// A part of a file that is not a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRange {
    /// Its first byte.
    pub start: u64,
    /// The first byte behind it.
    pub end: u64,
}

/// The first part at or behind `from` that is not a hole.
pub fn data_after(file: &File, from: u64) -> io::Result<Option<DataRange>> {
    let seek = |offset: u64, whence: i32| {
        // SAFETY: the descriptor is borrowed for the call.
        check(unsafe { libc::lseek(file.as_raw_fd(), offset as i64, whence) })
    };
    let start = match seek(from, libc::SEEK_DATA) {
        Ok(start) => start as u64,
        Err(Errno(libc::ENXIO)) => return Ok(None),
        Err(other) => return Err(other.into()),
    };
    let end = seek(start, libc::SEEK_HOLE)? as u64;
    Ok(Some(DataRange { start, end }))
}

/// Writes the content of one file into an empty one. A hole stays a hole.
pub fn copy_data(from: &File, to: &File, size: u64) -> io::Result<()> {
    if size > BUFFER_BYTES as u64 && share_data(from, to).is_ok() {
        // It may have grown since it was looked at.
        return to.set_len(size);
    }
    let mut buffer = vec![0_u8; BUFFER_BYTES.min(usize::try_from(size).unwrap_or(BUFFER_BYTES))];
    if size <= BUFFER_BYTES as u64 {
        // Most files are small, and asking for holes would take longer than the copy.
        copy_range(from, to, DataRange { start: 0, end: size }, &mut buffer)?;
        return Ok(());
    }
    let mut at = 0;
    while let Some(range) = data_after(from, at)? {
        copy_range(from, to, DataRange { start: range.start, end: range.end.min(size) }, &mut buffer)?;
        at = range.end;
        if at >= size {
            break;
        }
    }
    to.set_len(size)
}

/// Lets a file have the content of another without a copy, until one of them changes: btrfs and xfs can, see
/// ioctl_ficlone(2). Where it cannot be had nothing has happened.
pub fn share_data(from: &File, to: &File) -> io::Result<()> {
    // SAFETY: both descriptors are borrowed for the call, which takes nothing else.
    check_int(unsafe { libc::ioctl(to.as_raw_fd(), libc::FICLONE, from.as_raw_fd()) })?;
    Ok(())
}

fn copy_range(from: &File, to: &File, range: DataRange, buffer: &mut [u8]) -> io::Result<()> {
    let mut at = range.start;
    while at < range.end {
        let wanted = buffer.len().min(usize::try_from(range.end - at).unwrap_or(usize::MAX));
        let got = from.read_at(&mut buffer[..wanted], at)?;
        if got == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was copied"));
        }
        to.write_all_at(&buffer[..got], at)?;
        at += got as u64;
    }
    Ok(())
}

/// Brings everything that was written on a file system to the disk: one call instead of one per file.
pub fn sync_file_system(file: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is borrowed for the call.
    check_int(unsafe { libc::syncfs(file.as_raw_fd()) })?;
    Ok(())
}

/// Bytes that the caller may still write on a file system.
pub fn free_bytes(file: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: all-zero is a valid `statvfs`, which the call fills.
    unsafe {
        let mut disk: libc::statvfs = std::mem::zeroed();
        check_int(libc::fstatvfs(file.as_raw_fd(), &raw mut disk))?;
        Ok(disk.f_bavail as u64 * disk.f_frsize as u64)
    }
}
