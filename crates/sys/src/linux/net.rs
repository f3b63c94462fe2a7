//! The loopback of a new network namespace. Used between clone and exec: nothing here allocates.

use super::call::{Errno, check_fd, check_int};
use std::os::fd::AsRawFd;

/// Brings `lo` up; the kernel then gives it 127.0.0.1 and ::1 by itself.
pub(crate) fn loopback_up() -> Result<(), Errno> {
    // SAFETY: plain numbers.
    let socket = check_fd(i64::from(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) }))?;
    // SAFETY: all-zero is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_LOOPBACK | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: `request` is a complete `ifreq` that outlives the call.
    check_int(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) }).map(drop)
}
