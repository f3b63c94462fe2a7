//! What the kernel says to a socket family that may not be used.

/// Not there, or refused by rights.
pub(super) const NO_FAMILY: &[i32] =
    &[libc::EAFNOSUPPORT, libc::EPROTONOSUPPORT, libc::ESOCKTNOSUPPORT, libc::EPERM, libc::EACCES];
