//! Installing a compiled filter. Used between clone and exec: nothing here allocates.

use super::call::{Errno, check, check_fd};
use super::filter::Instruction;
use std::os::fd::OwnedFd;

const SET_MODE_FILTER: libc::c_uint = 1;
const FLAG_NEW_LISTENER: libc::c_ulong = 1 << 3;
const FLAG_WAIT_KILLABLE_RECV: libc::c_ulong = 1 << 5;

#[repr(C)]
struct Program {
    len: u16,
    filter: *const Instruction,
}

fn install_with(filter: &[Instruction], flags: libc::c_ulong) -> Result<i64, Errno> {
    let len = u16::try_from(filter.len()).map_err(|_| Errno(libc::EINVAL))?;
    let program = Program { len, filter: filter.as_ptr() };
    // SAFETY: `program` points at `len` instructions, and both outlive the call.
    check(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &raw const program) })
}

/// Binds this process, and all that come from it, to the filter.
pub(crate) fn install(filter: &[Instruction]) -> Result<(), Errno> {
    install_with(filter, 0).map(drop)
}

/// The same, and gives the descriptor on which notified calls arrive. The kernel allows one such in a chain. A call
/// that the listener has taken is not interrupted by a signal (Linux 5.19; see seccomp(2)).
pub(crate) fn install_with_listener(filter: &[Instruction]) -> Result<OwnedFd, Errno> {
    let installed = match install_with(filter, FLAG_NEW_LISTENER | FLAG_WAIT_KILLABLE_RECV) {
        Err(Errno(libc::EINVAL)) => install_with(filter, FLAG_NEW_LISTENER),
        installed => installed,
    };
    check_fd(installed?)
}
