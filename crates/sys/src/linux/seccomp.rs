//! Installing a compiled filter. Used between clone and exec: nothing here allocates.

use super::call::{Errno, check, check_fd};
use super::filter::Instruction;
use std::os::fd::OwnedFd;

const SET_MODE_FILTER: libc::c_uint = 1;
const FLAG_NEW_LISTENER: libc::c_ulong = 1 << 3;

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

/// The same, and gives the descriptor on which notified calls arrive. The kernel allows one such in a chain.
pub(crate) fn install_with_listener(filter: &[Instruction]) -> Result<OwnedFd, Errno> {
    check_fd(install_with(filter, FLAG_NEW_LISTENER)?)
}
