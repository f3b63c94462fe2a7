//! Talking to a daemon of this machine over a socket in the file system.

use super::call::{check_fd, check_int};
use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Connects to a socket in the file system, and waits no longer than this for somebody who accepts. The standard library
/// waits for good when the queue of a stopped daemon is full.
pub fn connect_local(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    // SAFETY: an address of zeroes is a valid, empty one.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    let bytes = path.as_os_str().as_bytes();
    // One byte stays zero, as the end of the text.
    if bytes.is_empty() || bytes.contains(&0) || bytes.len() >= address.sun_path.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is empty or too long for a socket"));
    }
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    let length = offset_of!(libc::sockaddr_un, sun_path) + bytes.len() + 1;
    // SAFETY: plain numbers.
    let made = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    let stream = UnixStream::from(check_fd(i64::from(made))?);
    // The time to send is also the time to connect: unix(7), SO_SNDTIMEO in socket(7).
    stream.set_write_timeout(Some(patience.max(Duration::from_millis(1))))?;
    // SAFETY: the address is valid for this length and outlives the call.
    let answer =
        unsafe { libc::connect(stream.as_fd().as_raw_fd(), (&raw const address).cast(), length as libc::socklen_t) };
    match check_int(answer) {
        Ok(_) => Ok(stream),
        Err(errno) if errno.0 == libc::EAGAIN => Err(io::ErrorKind::TimedOut.into()),
        Err(errno) => Err(errno.into()),
    }
}

/// The user who listens at the other end. Unlike the owner of the socket's file, this is about the connection itself.
pub fn peer_uid(stream: BorrowedFd<'_>) -> io::Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `peer` and `length` are valid for writing, and `length` is the size of `peer`.
    check_int(unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    })?;
    Ok(peer.uid)
}

#[cfg(test)]
mod tests;
