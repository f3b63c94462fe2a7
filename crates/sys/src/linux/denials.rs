//! What was denied in a run, as a table of fixed size that the shim writes and the caller reads.
//!
//! A command can be denied a million things a second, so nothing may grow with that: the shim keeps one entry per thing,
//! counts, and tells the caller only of new entries. The table is a file in memory; it is made when the first thing is
//! denied, and the caller can read it also when the shim was killed. The command cannot reach it.
//!
//! The shim's half runs in a cloned process: no allocation, no locks, no formatting.

use super::call::{Errno, check, check_fd, check_int};
use super::notify::Path;
use super::text::Text;
use super::wire::{self, Record, Tag};
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::ptr;

/// Things that one run can be told apart by; what comes after them is only counted.
const ENTRIES_MAX: usize = 1024;
const EXE_BYTES: usize = 216;
const TEXT_BYTES: usize = 768;
/// How long after the first time something on the network that is tried again is told once more: a program that goes on
/// trying waits for it.
const AGAIN_SECONDS: u32 = 3;
/// Twice as many places as entries, so that a search is short.
const PLACES: usize = 2 * ENTRIES_MAX;

/// What was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum DenialKind {
    /// Finding or opening a path to read.
    Read = 1,
    /// Opening a path to write.
    Write = 2,
    /// Making a name, or giving it to something else.
    Name = 3,
    /// Taking a name away.
    Remove = 11,
    /// Executing a path.
    Execute = 4,
    /// Opening a path that may be made on the way.
    Create = 10,
    /// Connecting to a socket with a path.
    UnixSocket = 5,
    /// Connecting or sending to an address outside; the target is `ADDRESS:PORT`.
    Address = 6,
    /// Asking for the address of a name.
    Lookup = 7,
    /// A system call that the filter refuses; `detail` is its number.
    SystemCall = 8,
    /// Calls of a process whose memory cannot be read, which went on unseen; the target is the name of the process.
    Unseen = 12,
}

impl DenialKind {
    /// Whether the target is a path.
    const fn names_path(self) -> bool {
        match self {
            Self::Read | Self::Write | Self::Name | Self::Remove | Self::Execute | Self::Create | Self::UnixSocket => {
                true
            }
            Self::Address | Self::Lookup | Self::SystemCall | Self::Unseen => false,
        }
    }

    /// Whether a program can wait for it in silence, and try again.
    const fn is_network(self) -> bool {
        matches!(self, Self::Address | Self::Lookup)
    }

    fn from_number(number: u32) -> Option<Self> {
        let all = [
            Self::Read,
            Self::Write,
            Self::Name,
            Self::Execute,
            Self::Create,
            Self::Remove,
            Self::UnixSocket,
            Self::Address,
            Self::Lookup,
            Self::SystemCall,
            Self::Unseen,
        ];
        all.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// One thing that was denied. For paths it says only that the call fails inside: whether it would have worked outside is
/// for the caller to find out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Its place in the table.
    pub index: usize,
    /// What it was.
    pub kind: DenialKind,
    /// The error for a path, a number or an index for the others.
    pub detail: u32,
    /// Who asked first, in the numbers of the sandbox.
    pub pid: u32,
    /// The program that asked first.
    pub exe: Option<Vec<u8>>,
    /// The path with its links followed, the address or the name. Absent if it was too long to be kept.
    pub target: Option<Vec<u8>>,
    /// How often so far.
    pub count: u64,
    /// What was there when the command had ended, of a path that was missing. Absent before the end, and when the shim was
    /// killed.
    pub at_end: Option<FoundAtEnd>,
}

/// What is at a path when the command has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundAtEnd {
    /// The path itself.
    pub target: bool,
    /// The directory that it would be in.
    pub parent: bool,
}

impl FoundAtEnd {
    const LOOKED: u32 = 1;
    const TARGET: u32 = 2;
    const PARENT: u32 = 4;

    const fn number(self) -> u32 {
        let Self { target, parent } = self;
        Self::LOOKED | if target { Self::TARGET } else { 0 } | if parent { Self::PARENT } else { 0 }
    }

    fn from_number(number: u32) -> Option<Self> {
        let has = |bit: u32| number & bit != 0;
        has(Self::LOOKED).then(|| Self { target: has(Self::TARGET), parent: has(Self::PARENT) })
    }
}

#[repr(C)]
struct Entry {
    kind: u32,
    detail: u32,
    pid: u32,
    text_len: u32,
    count: u64,
    hash: u64,
    exe_len: u32,
    /// A [`FoundAtEnd`] as a number, or 0.
    at_end: u32,
    /// When it was noted first, on the kernel's clock.
    since_seconds: u32,
    /// Whether the caller was told that it was tried again.
    told_again: u32,
    exe: [u8; EXE_BYTES],
    text: [u8; TEXT_BYTES],
}

const ENTRY_BYTES: usize = size_of::<Entry>();
/// The first entry's place holds how many were not kept.
const TABLE_BYTES: usize = ENTRY_BYTES * (ENTRIES_MAX + 1);

/// The shim's half.
pub(crate) struct Denials {
    /// The table, once there is something in it.
    table: Option<(OwnedFd, *mut Entry)>,
    /// Whether the caller has it.
    handed: bool,
    used: usize,
    /// Entry numbers from 1 by hash; 0 is a free place.
    places: [u16; PLACES],
}

impl Denials {
    pub(crate) const fn new() -> Self {
        Self { table: None, handed: false, used: 0, places: [0; PLACES] }
    }

    /// Notes that something was denied. Telling is a courtesy: where it fails, nothing else changes.
    pub(crate) fn note(&mut self, kind: DenialKind, detail: u32, pid: u32, text: &[u8], control: BorrowedFd<'_>) {
        let Ok(entries) = self.entries() else { return };
        let hash = hash_of(kind, detail, text);
        let mut place = hash as usize % PLACES;
        while self.places[place] != 0 {
            // SAFETY: numbers in `places` are those of entries that were written below.
            let entry = unsafe { &mut *entries.add(usize::from(self.places[place])) };
            if entry.hash == hash && entry.kind == kind as u32 && entry.detail == detail && entry.holds(text) {
                entry.count += 1;
                let is_told = kind.is_network() && entry.is_tried_again();
                if self.hand_over(control) && is_told {
                    self.tell(usize::from(self.places[place]), control);
                }
                return;
            }
            place = (place + 1) % PLACES;
        }
        if self.used == ENTRIES_MAX {
            // SAFETY: the first place of the table belongs to this count.
            unsafe { (*entries).count += 1 };
            return;
        }
        self.used += 1;
        self.places[place] = self.used as u16;
        // SAFETY: `used` is at most ENTRIES_MAX, and the table has one place more.
        unsafe { (*entries.add(self.used)).write(kind, detail, pid, text, hash) };
        if self.hand_over(control) {
            self.tell(self.used, control);
        }
    }

    fn tell(&self, number: usize, control: BorrowedFd<'_>) {
        let record = Record { a: number as i32, ..Record::new(Tag::Observed) };
        let _ = wire::try_send(control, &record);
    }

    /// Looks once more for every path that was missing: the command has ended, and may have made it after all.
    pub(crate) fn look_again(&mut self) {
        let Some((_, entries)) = &self.table else { return };
        for number in 1..=self.used {
            // SAFETY: `used` entries were written.
            let entry = unsafe { &mut *entries.add(number) };
            entry.look_again();
        }
    }

    fn entries(&mut self) -> Result<*mut Entry, Errno> {
        if let Some((_, entries)) = &self.table {
            return Ok(*entries);
        }
        // SAFETY: a static name, plain numbers, and a new mapping that nobody unmaps.
        let (file, entries) = unsafe {
            let name = c"polder-denials".as_ptr();
            let file = check_fd(libc::syscall(libc::SYS_memfd_create, name, libc::MFD_CLOEXEC))?;
            check_int(libc::ftruncate(file.as_raw_fd(), TABLE_BYTES as libc::off_t))?;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let at = libc::mmap(ptr::null_mut(), TABLE_BYTES, access, libc::MAP_SHARED, file.as_raw_fd(), 0);
            if at == libc::MAP_FAILED {
                return Err(Errno::last());
            }
            (file, at.cast::<Entry>())
        };
        self.table = Some((file, entries));
        Ok(entries)
    }

    /// Gives the caller the table, as soon as there is room for the message.
    fn hand_over(&mut self, control: BorrowedFd<'_>) -> bool {
        if let (false, Some((file, _))) = (self.handed, &self.table) {
            self.handed = wire::try_send_with(control, &Record::new(Tag::Denials), &[file.as_raw_fd()]).is_ok();
        }
        self.handed
    }
}

impl Entry {
    fn holds(&self, text: &[u8]) -> bool {
        let kept = text.len().min(TEXT_BYTES);
        self.text_len as usize == text.len() && self.text[..kept] == text[..kept]
    }

    fn look_again(&mut self) {
        let is_missing = matches!(self.detail as i32, libc::ENOENT | libc::ENOTDIR);
        let is_path = DenialKind::from_number(self.kind).is_some_and(DenialKind::names_path);
        let kept = self.text.get(..self.text_len as usize);
        let Some(path) = kept.filter(|_| is_missing && is_path).and_then(Text::from_bytes) else { return };
        let parent = path.parent().is_some_and(|parent| is_there(&parent));
        self.at_end = FoundAtEnd { target: is_there(&path), parent }.number();
    }

    fn write(&mut self, kind: DenialKind, detail: u32, pid: u32, text: &[u8], hash: u64) {
        let kept = text.len().min(TEXT_BYTES);
        self.text[..kept].copy_from_slice(&text[..kept]);
        let mut line = Path::new();
        let exe = line.exe(pid);
        // SAFETY: the buffer is valid for its length.
        let got = check(unsafe { libc::readlink(exe.as_ptr(), self.exe.as_mut_ptr().cast(), EXE_BYTES) } as i64);
        self.exe_len = got.unwrap_or(0) as u32;
        (self.kind, self.detail, self.pid, self.text_len) = (kind as u32, detail, pid, text.len() as u32);
        (self.hash, self.count) = (hash, 1);
        (self.since_seconds, self.told_again) = (now_seconds(), 0);
    }

    /// Whether this is the first time that it is tried a while after it was denied.
    fn is_tried_again(&mut self) -> bool {
        let is_again = self.told_again == 0 && now_seconds().saturating_sub(self.since_seconds) >= AGAIN_SECONDS;
        self.told_again |= u32::from(is_again);
        is_again
    }
}

/// Seconds of the kernel's clock since the machine started.
fn now_seconds() -> u32 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the buffer is valid for the call.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
    now.tv_sec as u32
}

fn is_there(path: &Text) -> bool {
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: the path outlives the call, and all-zero is a valid `stat`.
    let found = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        libc::fstatat(libc::AT_FDCWD, path.c().as_ptr(), &raw mut stat, flags)
    };
    found == 0
}

/// FNV-1a: short, and good enough where a collision only costs a comparison.
fn hash_of(kind: DenialKind, detail: u32, text: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325u64 ^ u64::from(kind as u32) ^ (u64::from(detail) << 32);
    text.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The caller's half: the table as it is when somebody looks.
#[derive(Debug)]
pub(crate) struct Seen(File);

impl Seen {
    pub(crate) fn new(table: OwnedFd) -> Self {
        Self(File::from(table))
    }

    /// An entry, if it was written.
    pub(crate) fn get(&self, index: usize) -> Option<Denial> {
        let mut bytes = [0u8; ENTRY_BYTES];
        if index == 0 || index > ENTRIES_MAX {
            return None;
        }
        self.0.read_exact_at(&mut bytes, (index * ENTRY_BYTES) as u64).ok()?;
        let number = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("invariant: four bytes"));
        let count = u64::from_ne_bytes(bytes[16..24].try_into().expect("invariant: eight bytes"));
        let (exe_at, text_at) = (std::mem::offset_of!(Entry, exe), std::mem::offset_of!(Entry, text));
        let (text_len, exe_len) = (number(12) as usize, number(32) as usize);
        let exe = bytes.get(exe_at..exe_at + exe_len.min(EXE_BYTES))?;
        let target = bytes.get(text_at..text_at + text_len.min(TEXT_BYTES))?;
        Some(Denial {
            index,
            kind: DenialKind::from_number(number(0))?,
            detail: number(4),
            pid: number(8),
            // A name of full length may have been cut.
            exe: (exe_len > 0 && exe_len < EXE_BYTES).then(|| exe.to_owned()),
            target: (text_len <= TEXT_BYTES).then(|| target.to_owned()),
            count,
            at_end: FoundAtEnd::from_number(number(std::mem::offset_of!(Entry, at_end))),
        })
    }

    /// Every entry, in the order in which they came.
    pub(crate) fn all(&self) -> Vec<Denial> {
        (1..=ENTRIES_MAX).map_while(|index| self.get(index)).collect()
    }

    /// How many things were denied after the table was full.
    pub(crate) fn not_kept(&self) -> u64 {
        let mut bytes = [0u8; 8];
        self.0.read_exact_at(&mut bytes, 16).map_or(0, |()| u64::from_ne_bytes(bytes))
    }
}

#[cfg(test)]
mod tests;
