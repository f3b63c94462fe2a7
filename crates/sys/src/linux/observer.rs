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
use super::known::{Known, Last, Mark, ShownMounts};
use super::notify::{Notification, PATH_BYTES_MAX, Path, process_name, read_memory, read_path};
use super::peers;
use super::spot::{Callers, Cwd, Spot, seen};
use super::syscalls::{self, Disturbs, Observe};
use super::text::resolve;
use std::ffi::CStr;
use std::os::fd::{BorrowedFd, RawFd};

/// What is done with a call, by its number alone.
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
    mounts: ShownMounts,
    callers: Callers,
}

impl<'a> Observer<'a> {
    pub(crate) const fn new(observe: ObserveImage<'a>) -> Self {
        let callers = Callers::new(matches!(observe.mode, Observe::Exact));
        Self { observe, known: Known::new(), mounts: ShownMounts::new(), callers }
    }

    /// Hears that a call is made: what was found out before may not be right any more.
    pub(super) fn hear(&mut self, call: &Notification) {
        match syscalls::disturbs(i64::from(call.nr)) {
            Some(Disturbs::Names) => self.known.forget(),
            Some(Disturbs::Cwd) => self.callers.forget(),
            None => {}
        }
    }

    /// Looks at a call that waits, and notes it if it will fail.
    pub(super) fn look(&mut self, call: &Notification, denials: &mut Denials, control: BorrowedFd<'_>) {
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
                } else if let Err(errno) = read_memory(pid, messages, &mut [0]) {
                    unseen(pid, messages, errno, denials, control);
                }
            }
            Some(Asked::SendMany { .. }) => {}
        }
    }

    fn path(&mut self, pid: u32, At { dir, path }: At, access: Access, denials: &mut Denials, control: BorrowedFd<'_>) {
        let mut memory = [0u8; PATH_BYTES_MAX];
        match read_path(pid, path, &mut memory) {
            Ok(path) => self.named(pid, dir, path, access, denials, control),
            Err(errno) => unseen(pid, path, errno, denials, control),
        }
    }

    fn named(
        &mut self,
        pid: u32,
        dir: RawFd,
        path: &CStr,
        access: Access,
        denials: &mut Denials,
        control: BorrowedFd<'_>,
    ) {
        if path.is_empty() || means_the_caller(path.to_bytes()) {
            return;
        }
        let mark = self.mark(pid, dir, path.to_bytes(), access);
        if mark.is_some_and(|mark| self.known.has(mark)) {
            return;
        }
        let Some(spot) = self.callers.spot(pid, dir, path.to_bytes()) else { return };
        let errno = match self.attempt(pid, dir, &spot, access) {
            Ok(()) if self.observe.lent.len() + self.observe.ruled.len() == 0 => return self.known.add(mark),
            Ok(()) => 0,
            Err(Errno(errno)) => errno,
        };
        if !matches!(errno, 0 | libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::EPERM | libc::EROFS) {
            return;
        }
        let follow = !matches!(access, Access::Make | Access::Remove | Access::Replace);
        let missing = matches!(errno, libc::ENOENT | libc::ENOTDIR);
        let may_be_shown = path.to_bytes().first() != Some(&b'/') || self.shown(path.to_bytes()).is_some();
        let last = if follow { Last::MayBeLink } else { Last::IsMissing };
        if missing && may_be_shown && self.mounts.have(&spot, last) {
            return self.known.add(mark);
        }
        let Some(place) = resolve(pid, dir, path.to_bytes(), follow) else { return };
        // What is shown is shown whole: what is missing there is missing on the host as well.
        if let Some(shown) = self.shown(place.bytes()).filter(|_| missing || errno == 0) {
            if missing {
                self.mounts.learn(&place, shown);
                self.known.add(mark);
            }
            return;
        }
        // Before the rules are asked: what they alone deny does not fail here.
        if errno != 0 && !self.still_fails(pid, dir, path.to_bytes(), access) {
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
            Access::Fill => return,
        };
        denials.note(kind, errno as u32, pid, place.bytes(), control);
    }

    /// Tries whether a path would do, without touching what is there.
    fn attempt(&mut self, pid: u32, dir: RawFd, spot: &Spot, access: Access) -> Result<(), Errno> {
        let path = spot.path();
        let or_its_directory = |observer: &mut Self, tested: Result<(), Errno>| match tested {
            Err(Errno(libc::ENOENT)) => observer.in_its_directory(pid, dir, spot),
            other => other,
        };
        match access {
            Access::Find => match seen(spot.from(), path, libc::AT_SYMLINK_NOFOLLOW) {
                Ok(seen) if seen.is_link => test(spot, path, libc::F_OK),
                Ok(_) => Ok(()),
                Err(failed) => Err(failed),
            },
            Access::Read => test(spot, path, libc::R_OK),
            Access::Execute => test(spot, path, libc::X_OK),
            Access::Write => test(spot, path, libc::W_OK),
            Access::Fill => test(spot, path, libc::W_OK | libc::X_OK),
            Access::WriteOrMake => or_its_directory(self, test(spot, path, libc::W_OK)),
            Access::ReadOrMake => or_its_directory(self, test(spot, path, libc::R_OK)),
            // What is there already is the answer, whoever may write beside it.
            Access::Make => {
                self.in_its_directory(pid, dir, spot).or_else(|failed| test(spot, path, libc::F_OK).map_err(|_| failed))
            }
            Access::Remove => test(spot, path, libc::F_OK)
                .and_then(|()| self.in_its_directory(pid, dir, spot))
                .and_then(|()| not_held(spot)),
            Access::Replace => self.in_its_directory(pid, dir, spot).and_then(|()| not_held(spot)),
        }
    }

    /// Tries once more what is about to be told, if it begins where the caller is: another thread may have gone elsewhere for
    /// both since that was looked up, and what was never tried must not be told.
    fn still_fails(&mut self, pid: u32, dir: RawFd, path: &[u8], access: Access) -> bool {
        if path.first() == Some(&b'/') || dir != libc::AT_FDCWD {
            return true;
        }
        self.callers.forget();
        let spot = self.callers.spot(pid, dir, path);
        spot.is_some_and(|spot| self.attempt(pid, dir, &spot, access).is_err())
    }

    /// Tries whether something can be made where a path is; whoever fills a directory asks for the same one each time.
    fn in_its_directory(&mut self, pid: u32, dir: RawFd, spot: &Spot) -> Result<(), Errno> {
        let Some(parent) = spot.parent() else { return Ok(()) };
        // Only what was spelt by the caller can be remembered as the caller spells it.
        let mark = if spot.is_as_spelt() { self.mark(pid, dir, parent.bytes(), Access::Fill) } else { None };
        if mark.is_some_and(|mark| self.known.has(mark)) {
            return Ok(());
        }
        test(spot, parent.c(), libc::W_OK | libc::X_OK)?;
        self.known.add(mark);
        Ok(())
    }

    /// A mark of what was asked, if it can be remembered: in the system, and in what is shown.
    fn mark(&mut self, pid: u32, dir: RawFd, path: &[u8], access: Access) -> Option<Mark> {
        let is_absolute = path.first() == Some(&b'/');
        let directory = if is_absolute || dir != libc::AT_FDCWD { None } else { self.shown_cwd(pid) };
        Known::mark(directory, path, access).filter(|mark| match mark {
            Mark::System(_) => true,
            Mark::Elsewhere(_) => !is_absolute || self.shown(path).is_some(),
        })
    }

    /// A number that stands for where the caller is, if that is shown whole. In a directory of the command's own, what was
    /// there a moment ago may be gone, and be there on the host.
    fn shown_cwd(&mut self, pid: u32) -> Option<u64> {
        let Cwd { mark, mount } = self.callers.cwd(pid)?;
        if !self.mounts.knows(mount) {
            let place = resolve(pid, libc::AT_FDCWD, b"name", false)?;
            match self.shown(place.bytes()) {
                Some(shown) => self.mounts.learn(&place, shown),
                None => self.mounts.learn_own(mount),
            }
        }
        self.mounts.holds(Some(mount)).then_some(mark)
    }

    /// Whether Landlock alone will say no.
    fn is_ruled_out(&self, place: &[u8], access: Access) -> bool {
        let ruled = &self.observe.ruled;
        access != Access::Find && ruled.len() != 0 && !is_below(place, ruled)
    }

    /// What is shown whole and holds this path.
    fn shown(&self, path: &[u8]) -> Option<&'a CStr> {
        self.observe.shown.iter().find(|place| holds(place, path))
    }

    fn connect(&mut self, pid: u32, address: u64, length: u64, denials: &mut Denials, control: BorrowedFd<'_>) {
        let mut bytes = [0u8; size_of::<libc::sockaddr_un>() + 1];
        let length = (length as usize).min(size_of::<libc::sockaddr_un>());
        if length < 3 {
            return;
        }
        if let Err(errno) = read_memory(pid, address, &mut bytes[..length]) {
            return unseen(pid, address, errno, denials, control);
        }
        match i32::from(u16::from_ne_bytes([bytes[0], bytes[1]])) {
            // A name without a path belongs to the network that the sandbox has.
            libc::AF_UNIX if bytes[2] != 0 => {
                let Ok(path) = CStr::from_bytes_until_nul(&bytes[2..]) else { return };
                let Some(spot) = self.callers.spot(pid, libc::AT_FDCWD, path.to_bytes()) else { return };
                let Err(Errno(errno)) = self.attempt(pid, libc::AT_FDCWD, &spot, Access::Write) else { return };
                let Some(place) = resolve(pid, libc::AT_FDCWD, path.to_bytes(), true) else { return };
                let missing = matches!(errno, libc::ENOENT | libc::ENOTDIR);
                if (!missing || self.shown(place.bytes()).is_none())
                    && self.still_fails(pid, libc::AT_FDCWD, path.to_bytes(), Access::Write)
                {
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

/// Notes that a call of a process went on without a look at it. A null pointer and a path that is too long fail by
/// themselves, and a process that is gone calls no more.
fn unseen(pid: u32, address: u64, errno: Errno, denials: &mut Denials, control: BorrowedFd<'_>) {
    let mut name = [0u8; 16];
    let name = process_name(pid, &mut name);
    let is_gone = errno != Errno(libc::EPERM) && name.is_empty();
    if address != 0 && errno != Errno(libc::ENAMETOOLONG) && !is_gone {
        denials.note(DenialKind::Unseen, 0, pid, name, control);
    }
}

/// Whether a path is one of these places, or in one.
fn is_below(path: &[u8], places: &List<'_, &CStr>) -> bool {
    places.iter().any(|place| holds(place, path))
}

/// Whether a path is this place, or in it.
fn holds(place: &CStr, path: &[u8]) -> bool {
    let rest = path.strip_prefix(place.to_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// Whether a path means another thing for the caller than for us; all of these are the caller's own.
fn means_the_caller(path: &[u8]) -> bool {
    let rest = path.strip_prefix(b"/proc/");
    rest.is_some_and(|rest| rest.starts_with(b"self") || rest.starts_with(b"thread-self"))
        || [b"/dev/fd".as_slice(), b"/dev/std", b"/dev/tty"].iter().any(|own| path.starts_with(own))
}

/// Asks the kernel whether a path from the place where another starts would do.
fn test(spot: &Spot, path: &CStr, mode: i32) -> Result<(), Errno> {
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::syscall(libc::SYS_faccessat, spot.from(), path.as_ptr(), mode) } as i32).map(drop)
}

/// Fails where a name is the place of a mount that cannot be written, which the kernel lets nobody rename, replace or
/// remove. The name itself counts and not what a link leads to. Kernels before 5.8 do not know the call, and say nothing.
fn not_held(spot: &Spot) -> Result<(), Errno> {
    let (path, flags) = (spot.path().as_ptr(), libc::AT_SYMLINK_NOFOLLOW);
    // SAFETY: the path outlives the call.
    let tested = unsafe { libc::syscall(libc::SYS_faccessat2, spot.from(), path, libc::W_OK, flags) };
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
