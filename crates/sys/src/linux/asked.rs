//! What a notified call asks for, from its number and its arguments alone. Pure.

use super::notify::Notification;
use std::os::fd::RawFd;

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Something at a path.
    Path(At, Access),
    /// A name to take away, and one to give.
    Rename(At, At),
    /// To reach an address.
    Connect { address: u64, length: u64 },
    /// To send something to an address, perhaps a question for a name.
    Send { data: u64, length: u64, address: u64, address_length: u64 },
    /// To send several, of which the first is looked at.
    SendMany { messages: u64 },
}

/// A path in the caller's memory, and what it is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) dir: RawFd,
    pub(super) path: u64,
}

/// What is to be done with what is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// To learn that it is there.
    Find,
    /// To read it.
    Read,
    /// To change it.
    Write,
    /// To change it, or make it where it is missing.
    WriteOrMake,
    /// To read it, or make it where it is missing.
    ReadOrMake,
    /// To give something this new name.
    Make,
    /// To take the name away from what is there.
    Remove,
    /// To give something this name, whether it is new or not.
    Replace,
    /// To execute it.
    Execute,
    /// To make something in it; no call says just that.
    Fill,
}

const CWD: RawFd = libc::AT_FDCWD;
const SYS_FCHMODAT2: i64 = 452;

const fn at(dir: u64, path: u64) -> At {
    At { dir: dir as RawFd, path }
}

const fn here(path: u64) -> At {
    At { dir: CWD, path }
}

/// What opening with these flags asks for.
const fn opening(flags: u64) -> Access {
    let flags = flags as i32;
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || flags & libc::O_TRUNC != 0;
    match (flags & libc::O_CREAT != 0, writes) {
        _ if flags & libc::O_PATH != 0 => Access::Find,
        (true, true) => Access::WriteOrMake,
        (true, false) => Access::ReadOrMake,
        (false, true) => Access::Write,
        (false, false) => Access::Read,
    }
}

/// What it asks for to test for these rights. Asking whether something may be written is not yet writing it.
const fn testing(mode: u64) -> Access {
    if mode as i32 & libc::X_OK != 0 { Access::Execute } else { Access::Find }
}

/// What a call asks for; `None` for those that nobody observes.
pub(super) fn asked(call: &Notification) -> Option<Asked> {
    let [a, b, c, d, e, f] = call.args;
    Some(match i64::from(call.nr) {
        libc::SYS_openat => Asked::Path(at(a, b), opening(c)),
        libc::SYS_newfstatat | libc::SYS_statx => Asked::Path(at(a, b), Access::Find),
        libc::SYS_faccessat | libc::SYS_faccessat2 => Asked::Path(at(a, b), testing(c)),
        libc::SYS_chdir => Asked::Path(here(a), Access::Find),
        libc::SYS_unlinkat => Asked::Path(at(a, b), Access::Remove),
        libc::SYS_mkdirat | libc::SYS_mknodat => Asked::Path(at(a, b), Access::Make),
        libc::SYS_symlinkat => Asked::Path(at(b, c), Access::Make),
        libc::SYS_renameat | libc::SYS_renameat2 => Asked::Rename(at(a, b), at(c, d)),
        libc::SYS_linkat => Asked::Path(at(c, d), Access::Make),
        libc::SYS_fchmodat | SYS_FCHMODAT2 => Asked::Path(at(a, b), Access::Write),
        libc::SYS_truncate => Asked::Path(here(a), Access::Write),
        libc::SYS_execve => Asked::Path(here(a), Access::Execute),
        libc::SYS_execveat => Asked::Path(at(a, b), Access::Execute),
        libc::SYS_connect => Asked::Connect { address: b, length: c },
        libc::SYS_sendto => Asked::Send { data: b, length: c, address: e, address_length: f },
        libc::SYS_sendmmsg => Asked::SendMany { messages: b },
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => Asked::Path(here(a), opening(b)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat => Asked::Path(here(a), Access::WriteOrMake),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_stat => Asked::Path(here(a), Access::Find),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_access => Asked::Path(here(a), testing(b)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink | libc::SYS_rmdir => Asked::Path(here(a), Access::Remove),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir | libc::SYS_mknod => Asked::Path(here(a), Access::Make),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_symlink | libc::SYS_link => Asked::Path(here(b), Access::Make),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => Asked::Rename(here(a), here(b)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => Asked::Path(here(a), Access::Write),
        _ => return None,
    })
}
