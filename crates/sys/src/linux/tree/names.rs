//! What is in a directory, and which extended attributes an entry has.

use super::super::call::{Errno, check, check_int};
use super::text;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

const ATTRIBUTE_NAMES_BYTES_MAX: usize = 65_536;
const ATTRIBUTE_BYTES_MAX: usize = 65_536;

/// The names in a directory, in order.
pub fn names(directory: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
    // A descriptor of its own: reading moves the position of all that share one.
    let own: OwnedFd = super::open_below(directory, std::path::Path::new(""))?;
    let own = own.into_raw_fd();
    let mut names = Vec::new();
    // SAFETY: the stream takes the descriptor over and is closed once; an entry is read before the next call.
    unsafe {
        let stream = libc::fdopendir(own);
        if stream.is_null() {
            let error = Errno::last();
            libc::close(own);
            return Err(error.into());
        }
        loop {
            *libc::__errno_location() = 0;
            let entry = libc::readdir64(stream);
            if entry.is_null() {
                let error = Errno::last();
                libc::closedir(stream);
                if error.0 != 0 {
                    return Err(error.into());
                }
                break;
            }
            let name = CStr::from_ptr((*entry).d_name.as_ptr()).to_bytes();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name.to_vec()));
            }
        }
    }
    names.sort();
    Ok(names)
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
