//! What is in a directory, and which extended attributes an entry has.

use super::super::call::{Errno, check, check_int};
use super::text;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

const ATTRIBUTE_NAMES_BYTES_MAX: usize = 65_536;
const ATTRIBUTE_BYTES_MAX: usize = 65_536;

/// What is read of a directory at a time.
const LISTING_BYTES: usize = 8192;
/// Number, position, length and kind stand before the name of an entry; see getdents64(2).
const LENGTH_AT: usize = 16;
const KIND_AT: usize = 18;
const NAME_AT: usize = 19;

#[repr(align(8))]
struct Listing([u8; LISTING_BYTES]);

/// The names in a directory, in order.
pub fn names(directory: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
    names_of(directory, |_| true)
}

/// The names in a directory that can lead elsewhere, in order: directories, links, and what the file system tells no kind of.
pub fn ways(directory: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
    names_of(directory, |kind| [libc::DT_DIR, libc::DT_LNK, libc::DT_UNKNOWN].contains(&kind))
}

fn names_of(directory: BorrowedFd<'_>, wanted: impl Fn(u8) -> bool) -> io::Result<Vec<OsString>> {
    // A descriptor of its own: reading moves the position of all that share one.
    let own: OwnedFd = super::open_below(directory, std::path::Path::new(""))?;
    let mut names = Vec::new();
    let mut listing = Listing([0; LISTING_BYTES]);
    loop {
        let buffer = &mut listing.0;
        // SAFETY: the buffer is as long as is said, and aligned as the kernel's records are.
        let length =
            check(unsafe { libc::syscall(libc::SYS_getdents64, own.as_raw_fd(), buffer.as_mut_ptr(), LISTING_BYTES) })?;
        if length == 0 {
            break;
        }
        let mut rest = &buffer[..length as usize];
        while let Some((kind, name, after)) = first_entry(rest) {
            if name != b"." && name != b".." && wanted(kind) {
                names.push(OsString::from_vec(name.to_vec()));
            }
            rest = after;
        }
    }
    names.sort();
    Ok(names)
}

/// Kind and name of the first record, and the records after it.
fn first_entry(records: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let length = [*records.get(LENGTH_AT)?, *records.get(LENGTH_AT + 1)?];
    let (record, after) = records.split_at_checked(usize::from(u16::from_ne_bytes(length)))?;
    let name = record.get(NAME_AT..)?;
    Some((*record.get(KIND_AT)?, name.split(|byte| *byte == 0).next()?, after))
}

/// The path by which an entry of an open directory can be named to calls that take no directory.
fn by_way_of_proc(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<CString> {
    let mut path = OsString::from(format!("/proc/self/fd/{}/", directory.as_raw_fd()));
    path.push(name);
    text(&path)
}

/// The names of an entry's extended attributes, in order. A file system without any has none.
pub fn attributes(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<Vec<OsString>> {
    let path = by_way_of_proc(directory, name)?;
    let mut space = [0_u8; 1024];
    let list = |buffer: &mut [u8]| {
        // SAFETY: the path outlives the call, and the buffer is as long as is said.
        check(unsafe { libc::llistxattr(path.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) } as i64)
    };
    let bytes = match list(&mut space) {
        Ok(length) => space[..length as usize].to_vec(),
        Err(Errno(libc::EOPNOTSUPP)) => return Ok(Vec::new()),
        Err(Errno(libc::ERANGE)) => {
            let mut space = vec![0_u8; ATTRIBUTE_NAMES_BYTES_MAX];
            let length = list(&mut space)?;
            space.truncate(length as usize);
            space
        }
        Err(other) => return Err(other.into()),
    };
    let mut names: Vec<OsString> = bytes
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| OsStr::from_bytes(name).into())
        .collect();
    names.sort();
    Ok(names)
}

/// The value of one extended attribute, if the entry has it.
pub fn attribute(directory: BorrowedFd<'_>, name: &OsStr, attribute: &OsStr) -> io::Result<Option<Vec<u8>>> {
    let (path, attribute) = (by_way_of_proc(directory, name)?, text(attribute)?);
    let mut value = vec![0_u8; ATTRIBUTE_BYTES_MAX];
    // SAFETY: path and name outlive the call, and the buffer is as long as is said.
    let length = check(unsafe {
        libc::lgetxattr(path.as_ptr(), attribute.as_ptr(), value.as_mut_ptr().cast(), value.len()) as i64
    });
    match length {
        Ok(length) => {
            value.truncate(length as usize);
            Ok(Some(value))
        }
        Err(Errno(libc::ENODATA | libc::EOPNOTSUPP)) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Sets one extended attribute.
pub fn set_attribute(directory: BorrowedFd<'_>, name: &OsStr, attribute: &OsStr, value: &[u8]) -> io::Result<()> {
    let (path, attribute) = (by_way_of_proc(directory, name)?, text(attribute)?);
    // SAFETY: path, name and value outlive the call, and the length is that of the value.
    check_int(unsafe { libc::lsetxattr(path.as_ptr(), attribute.as_ptr(), value.as_ptr().cast(), value.len(), 0) })?;
    Ok(())
}
