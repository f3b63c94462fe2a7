//! What the kernel and a listener say to each other about a call that waits, and the memory of who made it.
//!
//! Runs in a cloned process: no allocation, no locks, no formatting.

use super::call::{Errno, check, check_fd, check_int};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

pub(super) const PATH_BYTES_MAX: usize = 4096;

pub(super) const NOTIF_RECV: libc::c_ulong = 0xc050_2100;
pub(super) const NOTIF_SEND: libc::c_ulong = 0xc018_2101;
pub(super) const NOTIF_ID_VALID: libc::c_ulong = 0x4008_2102;
pub(super) const NOTIF_SET_FLAGS: libc::c_ulong = 0x4008_2104;
pub(super) const SYNC_WAKE_UP: u64 = 1;

#[repr(C)]
pub(super) struct Notification {
    pub(super) id: u64,
    pub(super) pid: u32,
    pub(super) flags: u32,
    pub(super) nr: i32,
    pub(super) arch: u32,
    pub(super) instruction_pointer: u64,
    pub(super) args: [u64; 6],
}

#[repr(C)]
pub(super) struct Response {
    pub(super) id: u64,
    pub(super) val: i64,
    pub(super) error: i32,
    pub(super) flags: u32,
}

/// A handle on the caller's working directory or on one of its descriptors.
pub(super) fn descriptor_of(pid: u32, dir: RawFd) -> Result<OwnedFd, Errno> {
    if dir < 0 && dir != libc::AT_FDCWD {
        return Err(Errno(libc::EBADF));
    }
    let mut line = Path::new();
    let path = if dir == libc::AT_FDCWD { line.cwd(pid) } else { line.descriptor(Some(pid), dir) };
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    // SAFETY: the path outlives the call.
    check_fd(unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) })
}

/// Reads the caller's path once. Whatever the caller does to its memory afterwards has no effect.
pub(super) fn read_path(pid: u32, address: u64, buffer: &mut [u8; PATH_BYTES_MAX]) -> Result<&CStr, Errno> {
    /// Most paths are shorter, and the kernel copies what it is asked for.
    const FIRST_STEP: usize = 256;
    let mut got = 0usize;
    // Page by page: the text may end just before memory that is not mapped.
    while got < buffer.len() {
        let here = address.wrapping_add(got as u64);
        let most = if got == 0 { FIRST_STEP } else { buffer.len() - got };
        let step = (4096 - (here as usize & 4095)).min(most);
        let local = libc::iovec { iov_base: buffer[got..].as_mut_ptr().cast(), iov_len: step };
        let remote = libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(here as usize), iov_len: step };
        // SAFETY: the local part is valid for its length; the kernel checks the remote one.
        let read =
            check(unsafe { libc::process_vm_readv(pid as i32, &raw const local, 1, &raw const remote, 1, 0) } as i64)
                .map_err(|errno| if errno.0 == libc::EPERM { errno } else { Errno(libc::EFAULT) })?;
        let from = got;
        got += read as usize;
        if buffer[from..got].contains(&0) {
            return CStr::from_bytes_until_nul(buffer).map_err(|_| Errno(libc::EFAULT));
        }
        if read as usize != step {
            return Err(Errno(libc::EFAULT));
        }
    }
    Err(Errno(libc::ENAMETOOLONG))
}

/// Reads some of the caller's memory, all or nothing.
pub(super) fn read_memory(pid: u32, address: u64, buffer: &mut [u8]) -> Result<(), Errno> {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote =
        libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address as usize), iov_len: buffer.len() };
    // SAFETY: the local part is valid for its length; the kernel checks the remote one.
    let got =
        check(unsafe { libc::process_vm_readv(pid as i32, &raw const local, 1, &raw const remote, 1, 0) } as i64)?;
    if got as usize == buffer.len() { Ok(()) } else { Err(Errno(libc::EFAULT)) }
}

/// The name of a process, which also one that is not dumpable shows; empty if it is gone.
pub(super) fn process_name(pid: u32, buffer: &mut [u8; 16]) -> &[u8] {
    let mut line = Path::new();
    let path = line.push(b"/proc/").number(pid).push(b"/comm").text();
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the path outlives the call.
    let opened = check_fd(unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) });
    let Ok(file) = opened else { return b"" };
    // SAFETY: the buffer is valid for its length.
    let got = unsafe { libc::read(file.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    let name = &buffer[..usize::try_from(got).unwrap_or(0)];
    name.strip_suffix(b"\n").unwrap_or(name)
}

/// Whether the call still waits: its process may have died and its PID may be another's by then.
pub(super) fn still_waiting(listener: BorrowedFd<'_>, id: u64) -> Result<(), Errno> {
    // SAFETY: the request reads one id.
    check_int(unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_ID_VALID as _, &raw const id) }).map(drop)
}

pub(super) fn respond(listener: BorrowedFd<'_>, id: u64, answer: Result<i64, Errno>) {
    let response = match answer {
        Ok(val) => Response { id, val, error: 0, flags: 0 },
        Err(errno) => Response { id, val: 0, error: -errno.0, flags: 0 },
    };
    // SAFETY: the request reads one response. It fails when the caller is gone, and then nobody waits.
    unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_SEND as _, &raw const response) };
}

/// Lets the kernel make the call.
pub(super) fn proceed(listener: BorrowedFd<'_>, id: u64) {
    const FLAG_CONTINUE: u32 = 1;
    let response = Response { id, val: 0, error: 0, flags: FLAG_CONTINUE };
    // SAFETY: the request reads one response. It fails when the caller is gone, and then nobody waits.
    unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_SEND as _, &raw const response) };
}

/// A short path below `/proc`, written without allocating.
pub(super) struct Path {
    bytes: [u8; 64],
    len: usize,
}

impl Path {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; 64], len: 0 }
    }

    pub(super) fn cwd(&mut self, pid: u32) -> &CStr {
        self.push(b"/proc/").number(pid).push(b"/cwd").text()
    }

    pub(super) fn exe(&mut self, pid: u32) -> &CStr {
        self.push(b"/proc/").number(pid).push(b"/exe").text()
    }

    pub(super) fn descriptor(&mut self, pid: Option<u32>, fd: RawFd) -> &CStr {
        match pid {
            Some(pid) => self.push(b"/proc/").number(pid),
            None => self.push(b"/proc/self"),
        };
        self.push(b"/fd/").number(fd.max(0) as u32).text()
    }

    pub(super) fn push(&mut self, part: &[u8]) -> &mut Self {
        self.bytes[self.len..self.len + part.len()].copy_from_slice(part);
        self.len += part.len();
        self
    }

    pub(super) fn number(&mut self, number: u32) -> &mut Self {
        let mut digits = [0u8; 10];
        let (mut rest, mut start) = (number, digits.len());
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.push(&digits[start..])
    }

    pub(super) fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).expect("invariant: the longest path is shorter than the buffer")
    }
}
