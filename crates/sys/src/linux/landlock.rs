//! Landlock by its three calls. Used between clone and exec: nothing here allocates.
//!
//! The `landlock` crate is made for programs that restrict themselves at start-up: it allocates, and it relaxes what
//! the kernel does not know. Here the rules are applied in a cloned child, where allocation is not allowed, and what
//! the ABI lacks was judged before the launch.

use super::call::{Errno, check, check_fd, check_int, open_at};
use super::mutate::{Layer, bits};
use super::recipe::LandlockRule;
use std::ffi::CStr;
use std::os::fd::AsRawFd;

const CREATE_RULESET_VERSION: u32 = 1;
const RULE_PATH_BENEATH: i32 = 1;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
/// Removing and making directory entries: bits 4 to 12.
const CHANGE_DIR: u64 = 0x1ff0;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

/// Only files can be opened, truncated or controlled; the rest is about directories.
const FILE_RIGHTS: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

/// The layer of each right. REFER has none: the kernel denies it unless it is granted, see landlock(7).
const RIGHT_LAYERS: &[(u64, Layer)] = &[
    (EXECUTE, Layer::LandlockExecute),
    (WRITE_FILE, Layer::LandlockWriteFile),
    (READ_FILE, Layer::LandlockReadFile),
    (READ_DIR, Layer::LandlockReadDir),
    (1 << 4, Layer::LandlockRemoveDir),
    (1 << 5, Layer::LandlockRemoveFile),
    (1 << 6, Layer::LandlockMakeChar),
    (1 << 7, Layer::LandlockMakeDir),
    (1 << 8, Layer::LandlockMakeReg),
    (1 << 9, Layer::LandlockMakeSock),
    (1 << 10, Layer::LandlockMakeFifo),
    (1 << 11, Layer::LandlockMakeBlock),
    (1 << 12, Layer::LandlockMakeSym),
    (TRUNCATE, Layer::LandlockTruncate),
    (IOCTL_DEV, Layer::LandlockIoctlDev),
];

const SCOPE_ABSTRACT_UNIX_SOCKET: u64 = 1;
const SCOPE_SIGNAL: u64 = 2;
const SCOPE_LAYERS: &[(u64, Layer)] =
    &[(SCOPE_ABSTRACT_UNIX_SOCKET, Layer::LandlockAbstract), (SCOPE_SIGNAL, Layer::LandlockSignal)];

#[repr(C)]
struct RulesetAttr {
    fs: u64,
    net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// The file rights that an ABI knows.
pub(crate) fn known_rights(abi: u32) -> u64 {
    let mut rights = EXECUTE | WRITE_FILE | READ_FILE | READ_DIR | CHANGE_DIR;
    if abi >= 2 {
        rights |= REFER;
    }
    if abi >= 3 {
        rights |= TRUNCATE;
    }
    if abi >= 5 {
        rights |= IOCTL_DEV;
    }
    bits(rights, RIGHT_LAYERS)
}

/// The ABI of the running kernel, or the error that says why there is none.
pub(crate) fn abi() -> Result<u32, Errno> {
    let none = std::ptr::null::<RulesetAttr>();
    // SAFETY: asking for the version takes no attributes.
    check(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0usize, CREATE_RULESET_VERSION) })
        .map(|version| version as u32)
}

/// Restricts this process, and all that come from it, to the rules. Paths are looked up in the current root.
pub(crate) fn restrict<'a>(abi: u32, rules: impl Iterator<Item = LandlockRule<&'a CStr>>) -> Result<(), Errno> {
    let known = known_rights(abi);
    let scoped = if abi >= 6 { SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL } else { 0 };
    let scoped = bits(scoped, SCOPE_LAYERS);
    let attr = RulesetAttr { fs: known, net: 0, scoped };
    // An older kernel refuses a structure that is longer than its own, even when the rest is zero bytes it knows not.
    let size = match abi {
        0..=3 => 8,
        4 | 5 => 16,
        _ => size_of::<RulesetAttr>(),
    };
    // SAFETY: `attr` is at least `size` bytes long and outlives the call.
    let ruleset = check_fd(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attr, size, 0) })?;
    for LandlockRule { path, access, missing } in rules {
        let wanted = match access {
            super::recipe::Access::ReadOnly => EXECUTE | READ_FILE | READ_DIR,
            super::recipe::Access::ReadWrite => known,
        };
        let opened = open_at(path, libc::O_PATH | libc::O_CLOEXEC, 0);
        let place = match (opened, missing) {
            (Ok(place), _) => place,
            (Err(Errno(libc::ENOENT)), super::recipe::Missing::Skip) => continue,
            (Err(other), _) => return Err(other),
        };
        // SAFETY: all-zero is a valid `stat`.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `stat` is valid for writing.
        check_int(unsafe { libc::fstat(place.as_raw_fd(), &raw mut stat) })?;
        let is_dir = stat.st_mode & libc::S_IFMT == libc::S_IFDIR;
        let allowed = (if is_dir { wanted } else { wanted & FILE_RIGHTS }) & known;
        let rule = PathBeneath { allowed, parent: place.as_raw_fd() };
        // SAFETY: `rule` has the layout of this rule type and outlives the call.
        check(unsafe {
            libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), RULE_PATH_BENEATH, &raw const rule, 0)
        })?;
    }
    // SAFETY: plain numbers and a descriptor that we own.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) }).map(drop)
}
