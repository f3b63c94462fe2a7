//! Where a path of the caller is, as we can look it up.
//!
//! Runs in a cloned process: no allocation, no locks, no formatting.

use super::call::{Errno, check_int};
use super::notify::{Path, descriptor_of};
use super::text::Text;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// A path, and the directory that it starts from.
pub(super) struct Spot {
    from: RawFd,
    text: Text,
    /// Whether the text is the caller's own, and not led through `/proc`.
    as_spelt: bool,
}

impl Spot {
    pub(super) const fn from(&self) -> RawFd {
        self.from
    }

    pub(super) const fn is_as_spelt(&self) -> bool {
        self.as_spelt
    }

    pub(super) fn path(&self) -> &CStr {
        self.text.c()
    }

    /// Another path from the same directory.
    pub(super) const fn at(&self, text: Text) -> Self {
        Self { from: self.from, text, as_spelt: self.as_spelt }
    }

    /// The directory that the last name is in, spelt so that a link at the end of it is followed. The root has none.
    pub(super) fn parent(&self) -> Option<Text> {
        match self.text.parent() {
            None if self.text.bytes().first() != Some(&b'/') => Text::from_bytes(b"."),
            parent => parent,
        }
    }
}

/// Who calls, and from where. A program that makes thousands of files is in the same directory each time, and finding that
/// through `/proc` costs more than the look itself.
pub(super) struct Callers {
    /// Whether calls that change a working directory are heard of; where they are not, nothing is remembered.
    hears_moves: bool,
    last: Option<Caller>,
}

/// Who called last, and where it is.
struct Caller {
    pid: u32,
    descriptor: OwnedFd,
    cwd: Cwd,
}

/// A working directory.
#[derive(Clone, Copy)]
pub(super) struct Cwd {
    /// A number that stands for it.
    pub(super) mark: u64,
    /// The mount that it is in.
    pub(super) mount: u64,
}

impl Callers {
    pub(super) const fn new(hears_moves: bool) -> Self {
        Self { hears_moves, last: None }
    }

    /// Forgets where everybody is.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    /// The working directory of a caller, if that can be remembered.
    pub(super) fn cwd(&mut self, pid: u32) -> Option<Cwd> {
        self.caller(pid).map(|caller| caller.cwd)
    }

    /// Where a path of a caller is.
    pub(super) fn spot(&mut self, pid: u32, dir: RawFd, path: &[u8]) -> Option<Spot> {
        if path.first() == Some(&b'/') {
            return Some(Spot { from: libc::AT_FDCWD, text: Text::from_bytes(path)?, as_spelt: true });
        }
        if dir == libc::AT_FDCWD
            && let Some(caller) = self.caller(pid)
        {
            return Some(Spot { from: caller.descriptor.as_raw_fd(), text: Text::from_bytes(path)?, as_spelt: true });
        }
        let mut line = Path::new();
        let base = if dir == libc::AT_FDCWD { line.cwd(pid) } else { line.descriptor(Some(pid), dir) };
        let mut text = Text::from_bytes(base.to_bytes())?;
        text.push(b"/")?;
        text.push(path)?;
        Some(Spot { from: libc::AT_FDCWD, text, as_spelt: false })
    }

    fn caller(&mut self, pid: u32) -> Option<&Caller> {
        if !self.hears_moves {
            return None;
        }
        if self.last.as_ref().is_none_or(|last| last.pid != pid) {
            self.last = None;
            let descriptor = descriptor_of(pid, libc::AT_FDCWD).ok()?;
            let cwd = seen(descriptor.as_raw_fd(), c"", libc::AT_EMPTY_PATH).ok()?.as_cwd()?;
            self.last = Some(Caller { pid, descriptor, cwd });
        }
        self.last.as_ref()
    }
}

/// What a path ends in.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) is_link: bool,
    /// The mount; kernels before 5.8 do not tell.
    pub(super) mount: Option<u64>,
    /// Whether it is the root of that mount.
    pub(super) is_root: bool,
    inode: u64,
}

impl Seen {
    fn as_cwd(&self) -> Option<Cwd> {
        let mount = self.mount?;
        // A mount shows one file system, so its number and the inode's are enough; the factor spreads small numbers.
        Some(Cwd { mark: (mount << 32 ^ self.inode).wrapping_mul(0x9e37_79b9_7f4a_7c15), mount })
    }
}

/// Looks what a path ends in.
pub(super) fn seen(from: RawFd, path: &CStr, flags: i32) -> Result<Seen, Errno> {
    // SAFETY: all-zero is a valid `statx`.
    let mut stat: libc::statx = unsafe { std::mem::zeroed() };
    let flags = flags | libc::AT_NO_AUTOMOUNT | libc::AT_STATX_DONT_SYNC;
    let mask = libc::STATX_TYPE | libc::STATX_INO | libc::STATX_MNT_ID;
    // SAFETY: the path outlives the call, and the kernel fills `stat`.
    check_int(unsafe { libc::statx(from, path.as_ptr(), flags, mask, &raw mut stat) })?;
    Ok(Seen {
        is_link: u32::from(stat.stx_mode) & libc::S_IFMT == libc::S_IFLNK,
        mount: (stat.stx_mask & libc::STATX_MNT_ID != 0).then_some(stat.stx_mnt_id),
        is_root: stat.stx_attributes & libc::STATX_ATTR_MOUNT_ROOT as u64 != 0,
        inode: stat.stx_ino,
    })
}
