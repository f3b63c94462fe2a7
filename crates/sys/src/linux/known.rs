//! What the observer has found out and need not ask again. All of it serves reports: whatever is remembered wrongly can hide
//! a line of one, never allow anything.
//!
//! Runs in a cloned process: no allocation, no locks, no formatting.

use super::asked::Access;
use super::call::Errno;
use super::spot::{Spot, seen};
use super::text::Text;
use std::ffi::CStr;

/// As many paths as a compiler or an interpreter opens and looks for, in sets of a few that would exclude each other.
const SETS: usize = 256;
const SET_MAX: usize = 4;
/// What is shown, and the pins in it.
const MOUNTS_MAX: usize = 16;
/// How many names behind the last directory that is there may be missing, before a path is followed name by name.
const MISSING_MAX: usize = 8;

/// Paths that nobody has to be told of, whatever becomes of the call: they would do, or they are as missing on the host. So
/// the hundredth process that reads the same library, or looks for the same header in vain, is not looked at as the first
/// was.
///
/// What is found out stays right until a name leads elsewhere. The system is read-only; in what is shown only links and new
/// names for what exists can bring that about, of which the observer hears: it forgets. Where a grant or an image lets a command
/// write to the system, where somebody makes a link at the very moment of a look, and where the host or another run makes one in
/// what is shown, a path that leads out by it may not be told of. It is denied all the same.
pub(super) struct Known {
    system: Marks,
    elsewhere: Marks,
}

struct Marks([[u64; SET_MAX]; SETS]);

impl Marks {
    const NONE: Self = Self([[0; SET_MAX]; SETS]);

    fn have(&self, mark: u64) -> bool {
        self.0[mark as usize % SETS].contains(&mark)
    }

    /// The oldest of the set makes room.
    fn add(&mut self, mark: u64) {
        let set = &mut self.0[mark as usize % SETS];
        set.rotate_right(1);
        set[0] = mark;
    }
}

/// A number that stands for a path and what is to be done with it.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    System(u64),
    Elsewhere(u64),
}

impl Known {
    pub(super) const fn new() -> Self {
        Self { system: Marks::NONE, elsewhere: Marks::NONE }
    }

    /// The mark of a path from a directory, of which a number is known that stands for it; an absolute path needs none.
    pub(super) fn mark(directory: Option<u64>, path: &[u8], access: Access) -> Option<Mark> {
        const SYSTEM: [&[u8]; 5] = [b"/usr/", b"/lib/", b"/lib64/", b"/etc/", b"/bin/"];
        const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
        const FNV_PRIME: u64 = 0x0100_0000_01b3;
        let step = |mark: u64, byte: &u8| (mark ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
        let from = |start: u64| path.iter().fold(step(start, &(access as u8)), step);
        if path.first() != Some(&b'/') {
            return directory.map(|directory| Mark::Elsewhere(from(FNV_START ^ directory)));
        }
        let of_system = SYSTEM.iter().any(|place| path.starts_with(place));
        Some(if of_system { Mark::System(from(FNV_START)) } else { Mark::Elsewhere(from(FNV_START)) })
    }

    pub(super) fn has(&self, mark: Mark) -> bool {
        match mark {
            Mark::System(mark) => self.system.have(mark),
            Mark::Elsewhere(mark) => self.elsewhere.have(mark),
        }
    }

    pub(super) fn add(&mut self, mark: Option<Mark>) {
        match mark {
            Some(Mark::System(mark)) => self.system.add(mark),
            Some(Mark::Elsewhere(mark)) => self.elsewhere.add(mark),
            None => {}
        }
    }

    /// A name may lead elsewhere from now on.
    pub(super) fn forget(&mut self) {
        self.elsewhere = Marks::NONE;
    }
}

/// Mounts in which everything is as on the host, so that what is missing there is missing there, too. Programs look for
/// more files than there are; following each of those paths name by name costs several times what it costs to ask which mount
/// it ends in.
pub(super) struct ShownMounts {
    ids: [u64; MOUNTS_MAX],
    used: usize,
    /// The last one that is the command's own, in which the host has nothing.
    own: Option<u64>,
}

/// Whether the last name of a path can still be a link that leads nowhere.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    MayBeLink,
    IsMissing,
}

impl ShownMounts {
    pub(super) const fn new() -> Self {
        Self { ids: [0; MOUNTS_MAX], used: 0, own: None }
    }

    /// Whether a path that was not found is missing in one of them.
    pub(super) fn have(&self, spot: &Spot, last: Last) -> bool {
        if self.used == 0 {
            return false;
        }
        let is_there = |path: &CStr| seen(spot.from(), path, libc::AT_SYMLINK_NOFOLLOW).is_ok();
        // Where a link leads that leads nowhere, is for the long way to find out.
        if last == Last::MayBeLink && is_there(spot.path()) {
            return false;
        }
        let mut next = None;
        let mut parent = spot.parent();
        for _ in 0..MISSING_MAX {
            let Some(directory) = parent else { return false };
            match seen(spot.from(), directory.c(), 0) {
                Ok(seen) => return self.holds(seen.mount) && !next.is_some_and(|name: Spot| is_there(name.path())),
                Err(Errno(libc::ENOENT | libc::ENOTDIR)) => {}
                Err(_) => return false,
            }
            let name = spot.at(directory.without_slashes());
            parent = name.parent();
            next = Some(name);
        }
        false
    }

    /// Remembers the mount of the directory that a missing place would be in, which is below something that is shown whole. The
    /// place is where a path leads, with every link followed: a link may lie in another mount than what it leads to.
    pub(super) fn learn(&mut self, place: &Text, shown: &CStr) {
        // Below the root of a mount there are only that mount and those that are mounted in it; a directory in the middle
        // of one says nothing about the rest.
        let is_whole = seen(libc::AT_FDCWD, shown, 0).is_ok_and(|shown| shown.is_root);
        let Some(directory) = place.parent().filter(|_| is_whole) else { return };
        let mount = seen(libc::AT_FDCWD, directory.c(), 0).ok().and_then(|seen| seen.mount);
        if let Some(id) = mount.filter(|_| !self.holds(mount) && self.used < MOUNTS_MAX) {
            self.ids[self.used] = id;
            self.used += 1;
        }
    }

    /// Remembers a mount that nothing of is shown.
    pub(super) const fn learn_own(&mut self, mount: u64) {
        self.own = Some(mount);
    }

    /// Whether it is known what a mount is.
    pub(super) fn knows(&self, mount: u64) -> bool {
        self.own == Some(mount) || self.holds(Some(mount))
    }

    /// Whether everything in a mount is as on the host.
    pub(super) fn holds(&self, mount: Option<u64>) -> bool {
        mount.is_some_and(|id| self.ids[..self.used].contains(&id))
    }
}

#[cfg(test)]
mod tests;
