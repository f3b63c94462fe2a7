//! Giving up privileges for good. Used between clone and exec: nothing here allocates.

use super::call::{Errno, check, check_int, open_at, open_in};
use super::mutate::{Layer, off};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

const SECUREBITS_ALL_LOCKED: libc::c_ulong =
    // NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with its lock, and the lock of KEEP_CAPS, which stays off.
    (1 << 0) | (1 << 1) | (1 << 2) | (1 << 3) | (1 << 5) | (1 << 6) | (1 << 7);

/// The right to change groups.
pub(crate) const CAP_SETGID: u32 = 6;
/// The right to change users.
pub(crate) const CAP_SETUID: u32 = 7;
const CAP_SETPCAP: u32 = 8;
/// The right to map the root of a user namespace into one below it; see user_namespaces(7).
pub(crate) const CAP_SETFCAP: u32 = 31;

#[repr(C)]
struct CapHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
struct CapData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn prctl(option: i32, a: libc::c_ulong, b: libc::c_ulong) -> Result<i32, Errno> {
    // SAFETY: the options used here take plain numbers.
    check_int(unsafe { libc::prctl(option, a, b, 0 as libc::c_ulong, 0 as libc::c_ulong) })
}

/// Takes this uid and gid, without any supplementary group.
pub(crate) fn become_user(uid: u32, gid: u32) -> Result<(), Errno> {
    if !off(Layer::IdentityGroups) {
        // SAFETY: an empty list needs no pointer.
        check(unsafe { libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<u32>()) })?;
    }
    // SAFETY: plain numbers. The raw calls, because the library's would reach into other threads.
    check(unsafe { libc::syscall(libc::SYS_setresgid, gid, gid, gid) })?;
    // SAFETY: as above.
    check(unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) }).map(drop)
}

/// No program can ever give a capability again, but perhaps these. What this process holds it keeps for now.
pub(crate) fn empty_bounding_set(kept: &[u32]) -> Result<(), Errno> {
    let kept_set = set_of(kept);
    for capability in 0..64 {
        if kept_set & (1 << capability) != 0 || off(Layer::CapsBounding) {
            continue;
        }
        match prctl(libc::PR_CAPBSET_DROP, capability, 0) {
            Ok(_) => {}
            // The first number that the kernel does not know ends the list.
            Err(Errno(libc::EINVAL)) => break,
            // Whoever built the ground has taken it away already, with the right to do so.
            Err(Errno(libc::EPERM)) => match prctl(libc::PR_CAPBSET_READ, capability, 0) {
                Ok(0) => {}
                Err(Errno(libc::EINVAL)) => break,
                _ => return Err(Errno(libc::EPERM)),
            },
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

fn set_of(capabilities: &[u32]) -> u64 {
    capabilities.iter().fold(0, |set, capability| set | 1u64 << capability)
}

/// No capability is left in any set, none can come back, and no program gains anything by being executed. The bounding
/// set has been emptied before.
pub(crate) fn drop_all() -> Result<(), Errno> {
    drop_all_but(&[])
}

/// The same, with capabilities that a program which is executed next keeps.
pub(crate) fn drop_all_but(kept: &[u32]) -> Result<(), Errno> {
    let kept_set = set_of(kept);
    // The securebits need CAP_SETPCAP, so they come before the sets are cleared.
    prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong, 0)?;
    if !kept.is_empty() {
        // Only what is permitted and inheritable can be ambient, and only before the securebits forbid it.
        set_capabilities(kept_set | 1 << CAP_SETPCAP, kept_set)?;
        for capability in kept {
            prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong, (*capability).into())?;
        }
    }
    let bits = if off(Layer::Securebits) { 0 } else { SECUREBITS_ALL_LOCKED };
    match prctl(libc::PR_SET_SECUREBITS, bits, 0) {
        // Whoever built the ground has dropped everything: the bounding set is empty, so nothing can come back that the
        // bits would keep away, and nothing is asked to be kept.
        Err(Errno(libc::EPERM)) if kept.is_empty() => {}
        other => drop(other?),
    }
    if !off(Layer::CapsSets) {
        set_capabilities(kept_set, kept_set)?;
    }
    gain_nothing_by_exec()
}

/// What a filter and a Landlock domain need from a process that is not privileged.
pub(crate) fn gain_nothing_by_exec() -> Result<(), Errno> {
    if off(Layer::NoNewPrivs) {
        return Ok(());
    }
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).map(drop)
}

fn set_capabilities(permitted: u64, inheritable: u64) -> Result<(), Errno> {
    // _LINUX_CAPABILITY_VERSION_3: two words of 32.
    let header = CapHeader { version: 0x2008_0522, pid: 0 };
    let data = [0, 32].map(|shift| {
        let (permitted, inheritable) = ((permitted >> shift) as u32, (inheritable >> shift) as u32);
        CapData { effective: permitted, permitted, inheritable }
    });
    // SAFETY: header and data have the layout of version 3 and outlive the call.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) }).map(drop)
}

/// Closes the way back in, and a way to exhaust the host: no further user namespace can be made below this one, whatever the filter lets through.
///
/// The table belongs to the namespace of the caller, so this changes nothing on the host; see user_namespaces(7). It is
/// reached through a process table: one of our own where there is one, because in the host's the kernel looks through
/// the tables of all namespaces that were there lately.
pub(crate) fn bound_namespace(proc: BorrowedFd<'_>) -> Result<(), Errno> {
    if off(Layer::NsUser) {
        // The table would be the host's.
        return Ok(());
    }
    let write = |path: &CStr, content: &[u8]| {
        let file = open_in(proc, path, libc::O_WRONLY | libc::O_CLOEXEC)?;
        write_once(file.as_raw_fd(), content)
    };
    if !off(Layer::UsernsBound) {
        write(c"sys/user/max_user_namespaces", b"0")?;
    }
    // What a sandbox takes counts for its user on the host too; it may have half of what a user usually has.
    if off(Layer::InotifyBound) {
        return Ok(());
    }
    match write(c"sys/user/max_inotify_instances", b"64") {
        // A kernel without inotify.
        Err(Errno(libc::ENOENT)) => Ok(()),
        other => other,
    }
}

/// The process table that is at its place.
pub(crate) fn visible_processes() -> Result<OwnedFd, Errno> {
    open_at(c"/proc", libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC, 0)
}

/// From now on this process does not interrupt another that is at work when it wakes up. Only a hint.
pub(crate) fn yield_to_others() {
    // Priority 0, the only one of this class.
    let priority: libc::c_int = 0;
    // SAFETY: `sched_param` begins with the priority, which is all that Linux has in it.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_BATCH, &raw const priority) };
}

/// Nobody with our uid may look into this process.
pub(crate) fn not_dumpable() -> Result<(), Errno> {
    if off(Layer::ShimDumpable) {
        return Ok(());
    }
    prctl(libc::PR_SET_DUMPABLE, 0, 0).map(drop)
}

/// Dies with the thread that made it. Only for the time of the set-up: afterwards the lifeline does this, because
/// the thread of a library user may end before the run does.
pub(crate) fn die_with_parent(signal: i32) -> Result<(), Errno> {
    if off(Layer::ShimPdeathsig) {
        return Ok(());
    }
    prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong, 0).map(drop)
}

/// Children of children that end become ours to collect.
pub(crate) fn adopt_orphans() -> Result<(), Errno> {
    prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0).map(drop)
}

/// Writes a short kernel file in one call, as such files want it.
pub(crate) fn write_file(path: &CStr, content: &[u8]) -> Result<(), Errno> {
    let fd = open_at(path, libc::O_WRONLY | libc::O_CLOEXEC, 0)?;
    write_once(fd.as_raw_fd(), content)
}

/// One write of the whole content, or an error.
pub(crate) fn write_once(fd: i32, content: &[u8]) -> Result<(), Errno> {
    // SAFETY: the buffer is valid for its length.
    let written = check(unsafe { libc::write(fd, content.as_ptr().cast(), content.len()) } as i64)?;
    if written as usize == content.len() { Ok(()) } else { Err(Errno(libc::EIO)) }
}
