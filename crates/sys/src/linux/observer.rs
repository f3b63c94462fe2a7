//! Noting what is denied. The observer only looks: the call continues, and mounts, Landlock and seccomp decide about it as
//! if nobody had looked. So a command that changes its memory under the look can spoil a report, never a decision.
//!
//! It stands in the same root under the same rules as the command and simply tries whether the path would be there for it;
//! that costs one call for what is allowed. What fails is followed to its end and noted. Whether it would have worked
//! outside, which is what makes it a violation, is for the caller to find out.
//!
//! Runs in a cloned process: no allocation, no locks, no formatting.

use super::asked::{Access, Asked, At, asked};
use super::call::{Errno, check_int};
use super::denials::{DenialKind, Denials};
use super::image::{List, ObserveImage};
use super::notify::{Notification, PATH_BYTES_MAX, Path, read_memory, read_path};
use super::peers;
use super::syscalls;
use super::text::{Text, resolve};
use std::cell::Cell;
use std::ffi::CStr;
use std::os::fd::{BorrowedFd, RawFd};

/// What is done with a call that is not the guard's, by its number alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is looked at and continues.
    Watched,
    /// It returns this error.
    Refused(Errno),
    /// Nobody knows why it was notified.
    Unknown,
}

/// The standing of a call. A number has one standing whatever the arguments are, so that there is nothing to get wrong.
pub(super) fn standing(number: i64) -> Standing {
    match syscalls::refused_with(number) {
        Some(errno) => Standing::Refused(Errno(errno)),
        None if syscalls::is_watched(number) => Standing::Watched,
        None => Standing::Unknown,
    }
}

/// The observer of one run.
pub(crate) struct Observer<'a> {
    observe: ObserveImage<'a>,
    known: Known,
}

impl<'a> Observer<'a> {
    pub(crate) const fn new(observe: ObserveImage<'a>) -> Self {
        Self { observe, known: Known::new() }
    }

    /// Looks at a call that waits, and notes it if it will fail.
    pub(super) fn look(&self, call: &Notification, denials: &mut Denials, control: BorrowedFd<'_>) {
        let pid = call.pid;
        match asked(call) {
            None => {}
            Some(Asked::Path(place, access)) => self.path(pid, place, access, denials, control),
            Some(Asked::Rename(old, new)) => {
                self.path(pid, old, Access::Remove, denials, control);
                self.path(pid, new, Access::Replace, denials, control);
            }
            Some(Asked::Connect { address, length }) => self.connect(pid, address, length, denials, control),
            Some(Asked::Send { data, length, address, address_length }) => {
                // With a network somebody answers.
                match self.observe.alone.then(|| peers::question(pid, data, length)).flatten() {
                    Some(name) => denials.note(DenialKind::Lookup, 0, pid, name.bytes(), control),
                    None => self.connect(pid, address, address_length, denials, control),
                }
            }
            Some(Asked::SendMany { messages }) if self.observe.alone => {
                if let Some(name) = peers::first_question(pid, messages) {
                    denials.note(DenialKind::Lookup, 0, pid, name.bytes(), control);
                }
            }
            Some(Asked::SendMany { .. }) => {}
        }
    }

    fn path(&self, pid: u32, At { dir, path }: At, access: Access, denials: &mut Denials, control: BorrowedFd<'_>) {
        let mut memory = [0u8; PATH_BYTES_MAX];
        let Ok(path) = read_path(pid, path, &mut memory) else { return };
        self.named(pid, dir, path, access, denials, control);
    }

    fn named(&self, pid: u32, dir: RawFd, path: &CStr, access: Access, denials: &mut Denials, control: BorrowedFd<'_>) {
        if path.is_empty() || means_the_caller(path.to_bytes()) {
            return;
        }
        let mark = Known::mark(path.to_bytes(), access);
        if mark.is_some_and(|mark| self.known.has(mark)) {
            return;
        }
        let Some(full) = Text::of(pid, dir, path.to_bytes()) else { return };
        let errno = match attempt(&full, access) {
            Ok(()) if self.observe.lent.len() + self.observe.ruled.len() == 0 => {
                if let Some(mark) = mark {
                    self.known.add(mark);
                }
                return;
            }
            Ok(()) => 0,
            Err(Errno(errno)) => errno,
        };
        if !matches!(errno, 0 | libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::EPERM | libc::EROFS) {
            return;
        }
        let follow = !matches!(access, Access::Make | Access::Remove | Access::Replace);
        let Some(place) = resolve(pid, dir, path.to_bytes(), follow) else { return };
        // What is shown is shown whole: what is missing there is missing on the host as well.
        if matches!(errno, 0 | libc::ENOENT | libc::ENOTDIR) && self.is_shown(place.bytes()) {
            return;
        }
        let errno = match errno {
            // It works here, and would not without what is lent.
            0 if is_below(place.bytes(), &self.observe.lent) => 0,
            0 if self.is_ruled_out(place.bytes(), access) => libc::EACCES,
            0 => return,
            errno => errno,
        };
        let kind = match access {
            Access::Find | Access::Read => DenialKind::Read,
            Access::Write => DenialKind::Write,
            Access::WriteOrMake | Access::ReadOrMake => DenialKind::Create,
            Access::Make | Access::Replace => DenialKind::Name,
            Access::Remove => DenialKind::Remove,
            Access::Execute => DenialKind::Execute,
        };
        denials.note(kind, errno as u32, pid, place.bytes(), control);
    }

    /// Whether Landlock alone will say no.
    fn is_ruled_out(&self, place: &[u8], access: Access) -> bool {
        let ruled = &self.observe.ruled;
        access != Access::Find && ruled.len() != 0 && !is_below(place, ruled)
    }

    fn is_shown(&self, path: &[u8]) -> bool {
        is_below(path, &self.observe.shown)
    }

    fn connect(&self, pid: u32, address: u64, length: u64, denials: &mut Denials, control: BorrowedFd<'_>) {
        let mut bytes = [0u8; size_of::<libc::sockaddr_un>() + 1];
        let length = (length as usize).min(size_of::<libc::sockaddr_un>());
        if length < 3 || read_memory(pid, address, &mut bytes[..length]).is_err() {
            return;
        }
        match i32::from(u16::from_ne_bytes([bytes[0], bytes[1]])) {
            // A name without a path belongs to the network that the sandbox has.
            libc::AF_UNIX if bytes[2] != 0 => {
                let Ok(path) = CStr::from_bytes_until_nul(&bytes[2..]) else { return };
                let Some(full) = Text::of(pid, libc::AT_FDCWD, path.to_bytes()) else { return };
                let Err(Errno(errno)) = attempt(&full, Access::Write) else { return };
                let Some(place) = resolve(pid, libc::AT_FDCWD, path.to_bytes(), true) else { return };
                let missing = matches!(errno, libc::ENOENT | libc::ENOTDIR);
                if !(missing && self.is_shown(place.bytes())) {
                    denials.note(DenialKind::UnixSocket, errno as u32, pid, place.bytes(), control);
                }
            }
            family if self.observe.alone => {
                if let Some(peer) = peers::outside(family, &bytes[..length]) {
                    denials.note(DenialKind::Address, 0, pid, peer.bytes(), control);
                }
            }
            _ => {}
        }
    }
}

/// Which paths of the system would do for what, so that the hundredth process that reads the same library is not looked
/// at as the first was. Only of the system, which is read-only: where a grant or an image lets a command write there, one
/// that exchanges a file for a link that leads out is not told of. It is denied all the same.
struct Known {
    marks: [Cell<u64>; KNOWN_MAX],
}

/// As many as a compiler or an interpreter opens.
const KNOWN_MAX: usize = 512;

impl Known {
    const fn new() -> Self {
        Self { marks: [const { Cell::new(0) }; KNOWN_MAX] }
    }

    /// A number that stands for a path of the system and what is to be done with it.
    fn mark(path: &[u8], access: Access) -> Option<u64> {
        const SYSTEM: [&[u8]; 5] = [b"/usr/", b"/lib/", b"/lib64/", b"/etc/", b"/bin/"];
        const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
        const FNV_PRIME: u64 = 0x0100_0000_01b3;
        let step = |mark: u64, byte: &u8| (mark ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
        let of_system = SYSTEM.iter().any(|place| path.starts_with(place));
        of_system.then(|| path.iter().fold(step(FNV_START, &(access as u8)), step))
    }

    fn has(&self, mark: u64) -> bool {
        self.marks[mark as usize % KNOWN_MAX].get() == mark
    }

    fn add(&self, mark: u64) {
        self.marks[mark as usize % KNOWN_MAX].set(mark);
    }
}

/// Whether a path is one of these places, or in one.
fn is_below(path: &[u8], places: &List<'_, &CStr>) -> bool {
    places.iter().any(|place| {
        let rest = path.strip_prefix(place.to_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    })
}

/// Whether a path means another thing for the caller than for us; all of these are the caller's own.
fn means_the_caller(path: &[u8]) -> bool {
    let rest = path.strip_prefix(b"/proc/");
    rest.is_some_and(|rest| rest.starts_with(b"self") || rest.starts_with(b"thread-self"))
        || [b"/dev/fd".as_slice(), b"/dev/std", b"/dev/tty"].iter().any(|own| path.starts_with(own))
}

/// Tries whether a path would do, without touching what is there.
fn attempt(full: &Text, access: Access) -> Result<(), Errno> {
    let test = |path: &CStr, mode: i32| {
        // SAFETY: the path outlives the call.
        check_int(unsafe { libc::syscall(libc::SYS_faccessat, libc::AT_FDCWD, path.as_ptr(), mode) } as i32).map(drop)
    };
    let in_its_directory = || full.parent().map_or(Ok(()), |parent| test(parent.c(), libc::W_OK | libc::X_OK));
    let or_its_directory = |tested: Result<(), Errno>| match tested {
        Err(Errno(libc::ENOENT)) => in_its_directory(),
        other => other,
    };
    match access {
        Access::Find => test(full.c(), libc::F_OK),
        Access::Read => test(full.c(), libc::R_OK),
        Access::Execute => test(full.c(), libc::X_OK),
        Access::Write => test(full.c(), libc::W_OK),
        Access::WriteOrMake => or_its_directory(test(full.c(), libc::W_OK)),
        Access::ReadOrMake => or_its_directory(test(full.c(), libc::R_OK)),
        // What is there already is the answer, whoever may write beside it.
        Access::Make => in_its_directory().or_else(|failed| test(full.c(), libc::F_OK).map_err(|_| failed)),
        Access::Remove => test(full.c(), libc::F_OK).and_then(|()| in_its_directory()).and_then(|()| not_held(full)),
        Access::Replace => in_its_directory().and_then(|()| not_held(full)),
    }
}

/// Fails where a name is the place of a mount that cannot be written, which the kernel lets nobody rename, replace or
/// remove. The name itself counts and not what a link leads to. Kernels before 5.8 do not know the call, and say nothing.
fn not_held(full: &Text) -> Result<(), Errno> {
    let (path, flags) = (full.c().as_ptr(), libc::AT_SYMLINK_NOFOLLOW);
    // SAFETY: the path outlives the call.
    let tested = unsafe { libc::syscall(libc::SYS_faccessat2, libc::AT_FDCWD, path, libc::W_OK, flags) };
    match check_int(tested as i32) {
        Err(Errno(libc::EROFS)) => Err(Errno(libc::EROFS)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The text of a path that a process's descriptor stands for.
pub(super) fn descriptor_path(pid: u32, dir: RawFd, into: &mut [u8]) -> Option<usize> {
    let mut line = Path::new();
    let link = if dir == libc::AT_FDCWD { line.cwd(pid) } else { line.descriptor(Some(pid), dir) };
    // SAFETY: the buffer is valid for its length.
    let got = unsafe { libc::readlink(link.as_ptr(), into.as_mut_ptr().cast(), into.len()) };
    usize::try_from(got).ok().filter(|got| *got < into.len())
}
