//! Keeping names from coming into being: the guard of protected paths that do not exist yet.
//!
//! A mount needs something to mount on, Landlock cannot name what is not there, and making a stand-in would touch the
//! host. So, and only when such a path exists in the plan, the calls that create names are notified to the shim. The
//! shim never lets such a call continue, because the command could change the path in its memory after the look: it
//! reads the path once, finds the directory, and makes the call itself on that directory's descriptor. It is under the
//! same Landlock domain, in the same root and without capabilities; the filter lets no caller lay another domain on
//! itself, which the shim would not be in. A path that depends on the process (`/proc/self`, `/dev/tty`) is resolved
//! for the caller, and the shim's own part of the process table is refused.
//!
//! Runs in a cloned process: no allocation, no locks, no formatting.

use super::call::{Errno, check, check_fd, check_int};
use super::image::List;
use super::mutate::{Layer, off};
use super::notify::{
    ADDFD_FLAG_SEND, AddFd, NOTIF_ADDFD, Notification, PATH_BYTES_MAX, Path, descriptor_of, proceed, read_memory,
    read_path, respond, still_waiting,
};
use super::recipe::Reserved;
use super::text::{Text, component};
use super::together::{Cpus, Together};
use std::cell::Cell;
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

const PROC_SUPER_MAGIC: u64 = 0x9fa0;
/// The inode of the root of every process table (include/linux/proc_fs.h, `PROC_ROOT_INO`).
const PROC_ROOT_INODE: u64 = 1;
/// The kernel's own limit on symbolic links in one lookup.
const LINKS_MAX: usize = 40;
/// Directories of reserved names; the engine refuses more.
pub(crate) const RESERVED_MAX: usize = 64;

/// The guard of one run.
pub(crate) struct Guard<'a> {
    reserved: List<'a, Reserved<&'a CStr>>,
    /// Device and inode of each reserved name's directory; absent for every directory.
    places: [Option<(u64, u64)>; RESERVED_MAX],
    /// Which reserved name the last call was refused for.
    refused: Cell<Option<u32>>,
    /// The file mode mask of everybody, until somebody changes one: asking the kernel costs as much as making a file.
    mask: Cell<Option<u32>>,
    /// Where we may run; absent where nobody knows.
    cpus: Option<Cpus>,
}

/// A name and the directory it is in.
struct Place {
    directory: OwnedFd,
    name: [u8; 256],
    /// Whether the path ended in a slash.
    slash: bool,
    /// Whether the directory is part of the process table.
    is_proc: bool,
}

impl Place {
    fn name(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.name).expect("invariant: a name is at most 255 bytes and a NUL")
    }
}

impl<'a> Guard<'a> {
    /// Guards these names from a command that begins with this file mode mask.
    pub(crate) fn new(reserved: List<'a, Reserved<&'a CStr>>, mask: u32) -> Result<Self, Errno> {
        let mut places = [None; RESERVED_MAX];
        if reserved.len() > RESERVED_MAX {
            return Err(Errno(libc::E2BIG));
        }
        for (place, reserved) in places.iter_mut().zip(reserved.iter()) {
            if let Some(directory) = reserved.directory {
                *place = Some(identity_of(libc::AT_FDCWD, directory)?);
            }
        }
        let cpus = if reserved.len() > 0 { Cpus::of(0).ok() } else { None };
        Ok(Self { reserved, places, refused: Cell::new(None), mask: Cell::new(Some(mask)), cpus })
    }

    pub(crate) fn is_needed(&self) -> bool {
        self.reserved.len() > 0
    }

    /// Whether a call is one of those that the guard makes itself.
    pub(super) fn takes(&self, call: &Notification) -> bool {
        match open_arguments(call) {
            Some(open) => self.is_needed() && open.flags & libc::O_CREAT != 0,
            None => self.is_needed() && is_creating(i64::from(call.nr)),
        }
    }

    /// Whether a call changes the caller's mask, which is heard of and continues: from now on masks differ.
    pub(super) fn hears(&self, call: &Notification) -> bool {
        let changes = self.is_needed() && i64::from(call.nr) == libc::SYS_umask;
        if changes {
            self.mask.set(None);
        }
        changes
    }

    fn mask_of(&self, pid: u32) -> Result<u32, Errno> {
        self.mask.get().map_or_else(|| mask_of(pid), Ok)
    }

    /// Makes a call and answers it; gives the kernel's error, and the reserved name if it was that.
    pub(super) fn answer(&self, call: &Notification, listener: BorrowedFd<'_>) -> Result<(), (Errno, Option<u32>)> {
        self.refused.set(None);
        match self.perform(call, listener) {
            Ok(Done::Value(value)) => respond(listener, call.id, Ok(value)),
            Ok(Done::Answered) => {}
            Ok(Done::Harmless) => proceed(listener, call.id),
            Err(errno) => return Err((errno, self.refused.take())),
        }
        Ok(())
    }

    /// Makes the call on behalf of the command, unless it would create a reserved name.
    fn perform(&self, call: &Notification, listener: BorrowedFd<'_>) -> Result<Done, Errno> {
        if let Some(wanted) = open_arguments(call) {
            return self.open(call, &wanted, listener);
        }
        let args = call.args;
        let cwd = libc::AT_FDCWD;
        match i64::from(call.nr) {
            libc::SYS_mkdirat => self.make(call, args[0] as RawFd, args[1], Make::Directory(args[2] as u32)),
            libc::SYS_mknodat => self.make(call, args[0] as RawFd, args[1], Make::Node(args[2] as u32)),
            libc::SYS_symlinkat => self.symlink(call, args[0], args[1] as RawFd, args[2]),
            libc::SYS_linkat => {
                self.link(call, (args[0] as RawFd, args[1]), (args[2] as RawFd, args[3]), args[4] as i32)
            }
            libc::SYS_renameat => self.rename(call, (args[0] as RawFd, args[1]), (args[2] as RawFd, args[3]), 0),
            libc::SYS_renameat2 => {
                self.rename(call, (args[0] as RawFd, args[1]), (args[2] as RawFd, args[3]), args[4] as u32)
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir => self.make(call, cwd, args[0], Make::Directory(args[1] as u32)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mknod => self.make(call, cwd, args[0], Make::Node(args[1] as u32)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_symlink => self.symlink(call, args[0], cwd, args[1]),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_link => self.link(call, (cwd, args[0]), (cwd, args[1]), 0),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => self.rename(call, (cwd, args[0]), (cwd, args[1]), 0),
            libc::SYS_bind => self.bind(call, args[1], args[2]),
            // The filter notifies nothing else; if it did, the answer must not be yes.
            _ => Err(Errno(libc::EPERM)),
        }
    }

    /// Opens what is there, or creates it; never waits, and never in a way that depends on who we are.
    fn open(&self, call: &Notification, wanted: &Open, listener: BorrowedFd<'_>) -> Result<Done, Errno> {
        /// How often somebody may create and remove the name between our two calls.
        const TRIES: usize = 16;
        let Open { dir, path, flags, mode } = *wanted;
        // A mere handle is never new: the kernel forgets about creating, and flags are no memory that could change.
        if flags & libc::O_PATH != 0 {
            return Ok(Done::Harmless);
        }
        let last = if flags & (libc::O_NOFOLLOW | libc::O_EXCL) != 0 { Last::Kept } else { Last::Followed };
        let mode = mode & 0o1777 & !self.mask_of(call.pid)?;
        let giver = Giver { listener, id: call.id, pid: call.pid, flags, cpus: self.cpus.as_ref() };
        let make = |place: &Place| {
            let ours = flags | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_NOCTTY;
            open_from(place.directory.as_raw_fd(), place.name(), ours, mode)
        };
        let place = self.find(call, dir, path, Last::Kept)?;
        // Mostly the name is new, and then there is nothing to follow and nothing to hold on to.
        if !place.slash && !place.is_proc {
            self.refuse_reserved(&place)?;
            match make(&place) {
                Ok(made) => return giver.give(made, Waits::AsAsked),
                Err(Errno(libc::EEXIST)) => {}
                Err(other) => return Err(other),
            }
        }
        let place = if last == Last::Kept { place } else { follow(place, call.pid)? };
        if place.slash {
            // What ends in a slash is a directory, and open does not make those.
            return Err(Errno(libc::EISDIR));
        }
        self.refuse_reserved(&place)?;
        for _ in 0..TRIES {
            // A handle on what is there: from here on it cannot be exchanged for something else.
            let there = open_from(place.directory.as_raw_fd(), place.name(), libc::O_PATH | libc::O_NOFOLLOW, 0);
            match there {
                Ok(_) if flags & libc::O_EXCL != 0 => return Err(Errno(libc::EEXIST)),
                Ok(there) => return giver.give_existing(&place, &there),
                // Nothing can be created there.
                Err(Errno(libc::ENOENT)) if place.is_proc => return Err(Errno(libc::ENOENT)),
                Err(Errno(libc::ENOENT)) => {}
                Err(other) => return Err(other),
            }
            match make(&place) {
                Ok(made) => return giver.give(made, Waits::AsAsked),
                Err(Errno(libc::EEXIST)) => {}
                Err(other) => return Err(other),
            }
        }
        Err(Errno(libc::EAGAIN))
    }

    /// A socket's name is looked at, and the kernel goes on: the worst that a change of the address can make is a
    /// socket, which nothing on the host reads or executes, and the kernel keeps the address as the command wrote it.
    fn bind(&self, call: &Notification, address: u64, length: u64) -> Result<Done, Errno> {
        let mut bytes = [0u8; size_of::<libc::sockaddr_un>() + 1];
        let length = (length as usize).min(size_of::<libc::sockaddr_un>());
        read_memory(call.pid, address, &mut bytes[..length])?;
        let family = u16::from_ne_bytes([bytes[0], bytes[1]]);
        if i32::from(family) != libc::AF_UNIX || length <= 2 || bytes[2] == 0 {
            return Ok(Done::Harmless);
        }
        let path = CStr::from_bytes_until_nul(&bytes[2..]).map_err(|_| Errno(libc::EINVAL))?;
        match self.find_path(call, libc::AT_FDCWD, path, Last::Kept) {
            Ok(place) => self.refuse_reserved(&place).map(|()| Done::Harmless),
            // The kernel will say the same.
            Err(_) => Ok(Done::Harmless),
        }
    }

    fn make(&self, call: &Notification, dir: RawFd, path: u64, what: Make) -> Result<Done, Errno> {
        let place = self.find(call, dir, path, Last::Kept)?;
        self.refuse_reserved(&place)?;
        let (directory, name) = (place.directory.as_raw_fd(), place.name().as_ptr());
        let mask = self.mask_of(call.pid)?;
        // SAFETY: the name outlives the calls.
        let answer = unsafe {
            match what {
                Make::Directory(mode) => libc::mkdirat(directory, name, mode & 0o1777 & !mask),
                Make::Node(mode) if matches!(mode & libc::S_IFMT, libc::S_IFCHR | libc::S_IFBLK) => {
                    return Err(Errno(libc::EPERM));
                }
                Make::Node(mode) => libc::mknodat(directory, name, mode & !mask & !0o6000, 0),
            }
        };
        check_int(answer).map(|_| Done::Value(0))
    }

    fn symlink(&self, call: &Notification, target: u64, dir: RawFd, path: u64) -> Result<Done, Errno> {
        let mut text = [0u8; PATH_BYTES_MAX];
        let target = read_path(call.pid, target, &mut text)?;
        let place = self.find(call, dir, path, Last::Kept)?;
        self.refuse_reserved(&place)?;
        // SAFETY: both texts outlive the call.
        let answer = unsafe { libc::symlinkat(target.as_ptr(), place.directory.as_raw_fd(), place.name().as_ptr()) };
        check_int(answer).map(|_| Done::Value(0))
    }

    fn link(&self, call: &Notification, from: (RawFd, u64), to: (RawFd, u64), flags: i32) -> Result<Done, Errno> {
        let new = self.find(call, to.0, to.1, Last::Kept)?;
        self.refuse_reserved(&new)?;
        let mut text = [0u8; PATH_BYTES_MAX];
        let path = read_path(call.pid, from.1, &mut text)?;
        if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
            // A file without a name, which only its owner's descriptor leads to.
            let file = descriptor_of(call.pid, from.0)?;
            let mut line = Path::new();
            let own = line.descriptor(None, file.as_raw_fd());
            // SAFETY: both texts outlive the call.
            let answer = unsafe {
                libc::linkat(
                    libc::AT_FDCWD,
                    own.as_ptr(),
                    new.directory.as_raw_fd(),
                    new.name().as_ptr(),
                    libc::AT_SYMLINK_FOLLOW,
                )
            };
            return check_int(answer).map(|_| Done::Value(0));
        }
        let last = if flags & libc::AT_SYMLINK_FOLLOW != 0 { Last::Followed } else { Last::Kept };
        let old = self.find_path(call, from.0, path, last)?;
        // An open file without a name is linked by its link in the process table; see open(2), O_TMPFILE.
        let flags = if old.is_proc { flags & libc::AT_SYMLINK_FOLLOW } else { 0 };
        // SAFETY: both names outlive the call.
        let answer = unsafe {
            libc::linkat(
                old.directory.as_raw_fd(),
                old.name().as_ptr(),
                new.directory.as_raw_fd(),
                new.name().as_ptr(),
                flags,
            )
        };
        check_int(answer).map(|_| Done::Value(0))
    }

    fn rename(&self, call: &Notification, from: (RawFd, u64), to: (RawFd, u64), flags: u32) -> Result<Done, Errno> {
        let old = self.find(call, from.0, from.1, Last::Kept)?;
        let new = self.find(call, to.0, to.1, Last::Kept)?;
        self.refuse_reserved(&new)?;
        // An exchange creates the old name anew, with what the new one was.
        self.refuse_reserved(&old)?;
        // SAFETY: both names outlive the call.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_renameat2,
                old.directory.as_raw_fd(),
                old.name().as_ptr(),
                new.directory.as_raw_fd(),
                new.name().as_ptr(),
                flags,
            )
        };
        check(answer).map(|_| Done::Value(0))
    }

    fn refuse_reserved(&self, place: &Place) -> Result<(), Errno> {
        if off(Layer::Guard) {
            return Ok(());
        }
        let here = identity_of(place.directory.as_raw_fd(), c"")?;
        for (index, (reserved, there)) in self.reserved.iter().zip(&self.places).enumerate() {
            if there.is_none_or(|there| there == here) && same_name(reserved.name, place.name()) {
                self.refused.set(Some(index as u32));
                return Err(Errno(libc::EPERM));
            }
        }
        Ok(())
    }

    /// The directory and the name that a path of the caller leads to.
    fn find(&self, call: &Notification, dir: RawFd, address: u64, last: Last) -> Result<Place, Errno> {
        let mut text = [0u8; PATH_BYTES_MAX];
        let path = read_path(call.pid, address, &mut text)?;
        self.find_path(call, dir, path, last)
    }

    fn find_path(&self, call: &Notification, dir: RawFd, path: &CStr, last: Last) -> Result<Place, Errno> {
        let mut text = [0u8; PATH_BYTES_MAX];
        text[..path.to_bytes_with_nul().len()].copy_from_slice(path.to_bytes_with_nul());
        let base = if path.to_bytes().first() == Some(&b'/') {
            open_directory(libc::AT_FDCWD, c"/")?
        } else {
            descriptor_of(call.pid, dir)?
        };
        let place = place_of(base, &text, call.pid)?;
        if last == Last::Kept { Ok(place) } else { follow(place, call.pid) }
    }
}

enum Done {
    /// The call's value, still to be told.
    Value(i64),
    /// The kernel already told it.
    Answered,
    /// The kernel may go on.
    Harmless,
}

/// The arguments of the calls that open by creating.
struct Open {
    dir: RawFd,
    path: u64,
    flags: i32,
    mode: u32,
}

/// Whether reading a file that was opened waits as the caller asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    AsAsked,
    /// It was opened without waiting, so that nobody is held up.
    NotYet,
}

/// Hands an opened file to the caller of a call.
struct Giver<'a> {
    listener: BorrowedFd<'a>,
    id: u64,
    pid: u32,
    flags: i32,
    cpus: Option<&'a Cpus>,
}

impl Giver<'_> {
    /// Opens what a handle stands for, and gives it.
    fn give_existing(&self, place: &Place, there: &OwnedFd) -> Result<Done, Errno> {
        let stat = stat_of(there.as_raw_fd(), c"")?;
        let kind = stat.st_mode & libc::S_IFMT;
        if kind == libc::S_IFDIR {
            return Err(Errno(libc::EISDIR));
        }
        let flags = self.flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW) | libc::O_NOCTTY;
        if kind == libc::S_IFLNK {
            if !place.is_proc || self.flags & libc::O_NOFOLLOW != 0 {
                return Err(Errno(libc::ELOOP));
            }
            let opened = open_from(place.directory.as_raw_fd(), place.name(), flags | libc::O_NONBLOCK, 0)?;
            if stat_of(opened.as_raw_fd(), c"")?.st_mode & libc::S_IFMT == libc::S_IFDIR {
                return Err(Errno(libc::EISDIR));
            }
            return self.give(opened, Waits::NotYet);
        }
        let mut line = Path::new();
        let own = if kind == libc::S_IFCHR && stat.st_rdev == libc::makedev(5, 0) {
            // `/dev/tty` is whoever's terminal opens it, so the caller's has to be named.
            line.terminal(terminal_of(self.pid)?)
        } else {
            line.descriptor(None, there.as_raw_fd())
        };
        let waits = kind == libc::S_IFIFO && flags & libc::O_NONBLOCK == 0;
        let opened =
            if waits { Err(Errno(libc::EAGAIN)) } else { open_from(libc::AT_FDCWD, own, flags | libc::O_NONBLOCK, 0) };
        match opened {
            // A FIFO waits for its other end, and a lease for its owner; neither may hold up everyone else.
            Err(Errno(libc::EAGAIN)) if flags & libc::O_NONBLOCK == 0 => self.give_later(own, flags),
            Err(other) => Err(other),
            Ok(opened) => self.give(opened, Waits::NotYet),
        }
    }

    /// Waits for the file in a copy of this process.
    fn give_later(&self, path: &CStr, flags: i32) -> Result<Done, Errno> {
        // SAFETY: we have one thread, so the copy is whole; it answers this one call and exits.
        match unsafe { libc::fork() } {
            0 => {
                // Whoever was waited for has gone on meanwhile, and what it does may be answered by now: only one of us may
                // move a caller about.
                let copy = Self { cpus: None, ..*self };
                let answer =
                    open_from(libc::AT_FDCWD, path, flags, 0).and_then(|opened| copy.give(opened, Waits::AsAsked));
                if let Err(errno) = answer {
                    respond(self.listener, self.id, Err(errno));
                }
                // SAFETY: ends the copy.
                unsafe { libc::_exit(0) }
            }
            -1 => Err(Errno::last()),
            _ => Ok(Done::Answered),
        }
    }

    fn give(&self, opened: OwnedFd, waits: Waits) -> Result<Done, Errno> {
        if waits == Waits::NotYet && self.flags & libc::O_NONBLOCK == 0 {
            // SAFETY: plain numbers.
            let now = check_int(unsafe { libc::fcntl(opened.as_raw_fd(), libc::F_GETFL) })?;
            // SAFETY: plain numbers.
            check_int(unsafe { libc::fcntl(opened.as_raw_fd(), libc::F_SETFL, now & !libc::O_NONBLOCK) })?;
        }
        still_waiting(self.listener, self.id)?;
        // A program that was just written cannot be executed while somebody has it open for writing, so our own
        // descriptor of such a file is closed before the answer is given. Other files are given with the answer.
        let writes = self.flags & libc::O_ACCMODE != libc::O_RDONLY;
        let add = AddFd {
            id: self.id,
            flags: if writes { 0 } else { ADDFD_FLAG_SEND },
            srcfd: opened.as_raw_fd() as u32,
            newfd: 0,
            newfd_flags: (self.flags & libc::O_CLOEXEC) as u32,
        };
        let together = self.cpus.filter(|_| writes).and_then(|ours| Together::with(self.pid, ours));
        // SAFETY: the request reads one `AddFd`.
        let number = check_int(unsafe { libc::ioctl(self.listener.as_raw_fd(), NOTIF_ADDFD as _, &raw const add) })?;
        if writes {
            // Before the answer: whoever goes on may fork at once, and the child would be bound to this CPU. A caller whom a
            // signal calls away in these microseconds can still do so (decision 1).
            drop(together);
            drop(opened);
            respond(self.listener, self.id, Ok(i64::from(number)));
        }
        Ok(Done::Answered)
    }
}

enum Make {
    Directory(u32),
    Node(u32),
}

/// What is done with a symbolic link at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Followed,
    Kept,
}

/// The calls besides opening that create names.
fn is_creating(number: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if matches!(number, libc::SYS_mkdir | libc::SYS_mknod | libc::SYS_symlink | libc::SYS_link | libc::SYS_rename) {
        return true;
    }
    matches!(
        number,
        libc::SYS_mkdirat
            | libc::SYS_mknodat
            | libc::SYS_symlinkat
            | libc::SYS_linkat
            | libc::SYS_renameat
            | libc::SYS_renameat2
            | libc::SYS_bind
    )
}

fn open_arguments(call: &Notification) -> Option<Open> {
    let [a, b, c, d, ..] = call.args;
    match i64::from(call.nr) {
        libc::SYS_openat => Some(Open { dir: a as RawFd, path: b, flags: c as i32, mode: d as u32 }),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => Some(Open { dir: libc::AT_FDCWD, path: a, flags: b as i32, mode: c as u32 }),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat => {
            let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
            Some(Open { dir: libc::AT_FDCWD, path: a, flags, mode: b as u32 })
        }
        _ => None,
    }
}

/// File systems that fold case would let `.GIT` be `.git`; a reserved name is refused in every spelling of its letters.
fn same_name(a: &CStr, b: &CStr) -> bool {
    a.to_bytes().eq_ignore_ascii_case(b.to_bytes())
}

/// Where a link leads; the place itself where there is none.
fn follow(mut place: Place, pid: u32) -> Result<Place, Errno> {
    for _ in 0..LINKS_MAX {
        // A link of a process is not a text: following it is opening what it stands for.
        if place.is_proc && !is_proc_root(place.directory.as_fd())? {
            return Ok(place);
        }
        let mut target = [0u8; PATH_BYTES_MAX];
        // Not a link, or nothing there: this is the place.
        if read_link(&place, pid, &mut target).is_err() {
            return Ok(place);
        }
        let base = if target[0] == b'/' { open_directory(libc::AT_FDCWD, c"/")? } else { place.directory };
        place = place_of(base, &target, pid)?;
    }
    Err(Errno(libc::ELOOP))
}

/// The text of a link, as the caller would read it: some in the root of the process table name their reader.
fn read_link(place: &Place, pid: u32, target: &mut [u8; PATH_BYTES_MAX]) -> Result<(), Errno> {
    let (directory, name) = (place.directory.as_raw_fd(), place.name());
    // SAFETY: the buffer is valid for its length; one byte stays free for the NUL.
    let length =
        check(
            unsafe { libc::readlinkat(directory, name.as_ptr(), target.as_mut_ptr().cast(), target.len() - 1) } as i64
        )? as usize;
    let read = Text::from_bytes(&target[..length]).ok_or(Errno(libc::ENAMETOOLONG))?;
    let names_reader = matches!(name.to_bytes(), b"self" | b"thread-self");
    let rest = if names_reader { Some(&b""[..]) } else { read.bytes().strip_prefix(b"self") };
    let Some(rest) = rest.filter(|rest| place.is_proc && (rest.is_empty() || rest[0] == b'/')) else { return Ok(()) };
    let mut line = Path::new();
    let own = line.number(pid).text().to_bytes();
    let mut text = Text::from_bytes(own).ok_or(Errno(libc::ENAMETOOLONG))?;
    text.push(rest).ok_or(Errno(libc::ENAMETOOLONG))?;
    target[..=text.bytes().len()].copy_from_slice(text.c().to_bytes_with_nul());
    Ok(())
}

/// Opens the directory part of a path and keeps its last name. A trailing slash belongs to the name's meaning only.
fn place_of(base: OwnedFd, text: &[u8; PATH_BYTES_MAX], pid: u32) -> Result<Place, Errno> {
    let path = CStr::from_bytes_until_nul(text).map_err(|_| Errno(libc::ENAMETOOLONG))?;
    let bytes = path.to_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    if end == 0 {
        // Empty, or the root itself: nothing can be created there.
        return Err(Errno(if bytes.is_empty() { libc::ENOENT } else { libc::EEXIST }));
    }
    let start = bytes[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let name = one_name(&bytes[start..end])?;
    let (directory, is_proc) = if start == 0 {
        let is_proc = is_proc(base.as_fd())?;
        (base, is_proc)
    } else {
        directory_of(base, Text::from_bytes(&bytes[..start]).ok_or(Errno(libc::ENAMETOOLONG))?, pid)?
    };
    Ok(Place { directory, name, slash: end < bytes.len(), is_proc })
}

fn one_name(bytes: &[u8]) -> Result<[u8; 256], Errno> {
    let mut name = [0u8; 256];
    if bytes.len() > 255 {
        return Err(Errno(libc::ENAMETOOLONG));
    }
    name[..bytes.len()].copy_from_slice(bytes);
    Ok(name)
}

/// Opens a directory on a path of the caller, and says whether it is in the process table. The kernel resolves the
/// path in one call, unless it leads into the process table: `self` there, and the links of a process, mean another
/// process for the caller than for the shim, whose descriptors no path may lead to.
fn directory_of(base: OwnedFd, path: Text, pid: u32) -> Result<(OwnedFd, bool), Errno> {
    #[repr(C)]
    struct OpenHow {
        flags: u64,
        mode: u64,
        resolve: u64,
    }
    /// openat2(2): no link that stands for a file instead of holding a text. Linux 5.6.
    const RESOLVE_NO_MAGICLINKS: u64 = 2;
    let flags = (libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) as u64;
    let how = OpenHow { flags, mode: 0, resolve: RESOLVE_NO_MAGICLINKS };
    let (from, size) = (base.as_raw_fd(), size_of::<OpenHow>());
    // SAFETY: path and structure outlive the call, and the size is that of the structure.
    match check_fd(unsafe { libc::syscall(libc::SYS_openat2, from, path.c().as_ptr(), &raw const how, size) }) {
        Ok(found) if !on_proc(found.as_fd())? => Ok((found, false)),
        Ok(_) | Err(Errno(libc::ELOOP)) => walk(base, path, pid),
        Err(other) => Err(other),
    }
}

/// The same, name by name, as the caller would be led.
fn walk(base: OwnedFd, mut path: Text, pid: u32) -> Result<(OwnedFd, bool), Errno> {
    let (mut directory, mut next, mut links) = (base, 0, 0);
    while let Some((range, after)) = component(path.bytes(), next) {
        let name = one_name(&path.bytes()[range])?;
        next = after;
        let is_proc = is_proc(directory.as_fd())?;
        let here = Place { directory, name, slash: false, is_proc };
        let found = open_from(here.directory.as_raw_fd(), here.name(), libc::O_PATH | libc::O_NOFOLLOW, 0)?;
        if stat_of(found.as_raw_fd(), c"")?.st_mode & libc::S_IFMT != libc::S_IFLNK {
            directory = found;
            continue;
        }
        links += 1;
        if links > LINKS_MAX {
            return Err(Errno(libc::ELOOP));
        }
        if is_proc && !is_proc_root(here.directory.as_fd())? {
            directory = open_from(here.directory.as_raw_fd(), here.name(), libc::O_PATH, 0)?;
            continue;
        }
        let mut target = [0u8; PATH_BYTES_MAX];
        read_link(&here, pid, &mut target)?;
        let target = CStr::from_bytes_until_nul(&target).map_err(|_| Errno(libc::ENAMETOOLONG))?.to_bytes();
        directory = if target.first() == Some(&b'/') { open_directory(libc::AT_FDCWD, c"/")? } else { here.directory };
        let mut longer = Text::from_bytes(target).ok_or(Errno(libc::ENAMETOOLONG))?;
        longer.push(b"/").and_then(|()| longer.push(&path.bytes()[next..])).ok_or(Errno(libc::ENAMETOOLONG))?;
        (path, next) = (longer, 0);
    }
    let is_proc = is_proc(directory.as_fd())?;
    // A file is no directory, whatever it was reached by.
    Ok((open_directory(directory.as_raw_fd(), c".")?, is_proc))
}

/// Whether a directory is part of the process table. The shim's own part is refused, however it was spelt: the command
/// must not read or change the shim through the shim. So is the process table of another sandbox.
fn is_proc(directory: BorrowedFd<'_>) -> Result<bool, Errno> {
    if !on_proc(directory)? {
        return Ok(false);
    }
    let mut line = Path::new();
    let link = line.descriptor(None, directory.as_raw_fd());
    let mut text = [0u8; 64];
    // SAFETY: the buffer is valid for its length.
    let got = check(unsafe { libc::readlink(link.as_ptr(), text.as_mut_ptr().cast(), text.len()) } as i64)?;
    let mut line = Path::new();
    // SAFETY: no arguments.
    let own = line.push(b"/").number(unsafe { libc::getpid() } as u32).text().to_bytes();
    let below = text[..got as usize].strip_prefix(b"/proc").ok_or(Errno(libc::EACCES))?;
    let rest = below.strip_prefix(own).or_else(|| below.strip_prefix(b"/self"));
    let is_own = rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
    if is_own { Err(Errno(libc::EACCES)) } else { Ok(true) }
}

fn on_proc(directory: BorrowedFd<'_>) -> Result<bool, Errno> {
    // SAFETY: all-zero is a valid `statfs`.
    let mut disk: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `disk` is valid for writing.
    check_int(unsafe { libc::fstatfs(directory.as_raw_fd(), &raw mut disk) })?;
    // The C libraries disagree on the type of the number.
    Ok(u64::try_from(disk.f_type) == Ok(PROC_SUPER_MAGIC))
}

/// Whether a directory of the process table is its root.
fn is_proc_root(directory: BorrowedFd<'_>) -> Result<bool, Errno> {
    identity_of(directory.as_raw_fd(), c"").map(|(_, inode)| inode == PROC_ROOT_INODE)
}

/// The number of the caller's terminal in the sandbox's own `/dev/pts`.
fn terminal_of(pid: u32) -> Result<u32, Errno> {
    const PTS_MAJOR: u64 = 136;
    let mut line = Path::new();
    let path = line.push(b"/proc/").number(pid).push(b"/stat").text();
    let file = open_from(libc::AT_FDCWD, path, libc::O_RDONLY, 0)?;
    let mut text = [0u8; 512];
    // SAFETY: the buffer is valid for its length.
    let got = check(unsafe { libc::read(file.as_raw_fd(), text.as_mut_ptr().cast(), text.len()) } as i64)?;
    let text = &text[..got as usize];
    // The name in parentheses may contain anything, also parentheses.
    let after_name = text.iter().rposition(|byte| *byte == b')').ok_or(Errno(libc::EIO))? + 2;
    // state, parent, group, session, terminal.
    let field =
        text.get(after_name..).and_then(|rest| rest.split(|byte| *byte == b' ').nth(4)).ok_or(Errno(libc::EIO))?;
    let device = field.iter().filter(|byte| byte.is_ascii_digit()).fold(0u64, |n, b| n * 10 + u64::from(b - b'0'));
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00));
    if major == PTS_MAJOR { Ok(minor as u32) } else { Err(Errno(libc::ENXIO)) }
}

/// Opens a name in a directory, closed on exec.
fn open_from(dir: RawFd, name: &CStr, flags: i32, mode: u32) -> Result<OwnedFd, Errno> {
    // SAFETY: the name outlives the call.
    check_fd(unsafe { libc::syscall(libc::SYS_openat, dir, name.as_ptr(), flags | libc::O_CLOEXEC, mode) })
}

fn open_directory(base: RawFd, path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path outlives the call.
    check_fd(i64::from(unsafe { libc::openat(base, path.as_ptr(), flags) }))
}

fn stat_of(base: RawFd, path: &CStr) -> Result<libc::stat, Errno> {
    // SAFETY: all-zero is a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    let flags = libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: the path outlives the call and `stat` is valid for writing.
    check_int(unsafe { libc::fstatat(base, path.as_ptr(), &raw mut stat, flags) })?;
    Ok(stat)
}

fn identity_of(base: RawFd, path: &CStr) -> Result<(u64, u64), Errno> {
    stat_of(base, path).map(|stat| (stat.st_dev, stat.st_ino))
}

/// The file mode mask of the caller.
fn mask_of(pid: u32) -> Result<u32, Errno> {
    let mut line = Path::new();
    let path = line.status(pid);
    let file = open_from(libc::AT_FDCWD, path, libc::O_RDONLY, 0)?;
    let mut text = [0u8; 256];
    // SAFETY: the buffer is valid for its length.
    let got = check(unsafe { libc::read(file.as_raw_fd(), text.as_mut_ptr().cast(), text.len()) } as i64)?;
    let text = &text[..got as usize];
    let key = b"Umask:\t";
    let start = text.windows(key.len()).position(|part| part == key).ok_or(Errno(libc::EIO))? + key.len();
    let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit());
    Ok(digits.fold(0, |mask, digit| mask * 8 + u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests;
