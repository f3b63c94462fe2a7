//! What the caller of a sandbox needs from the kernel: pipes, waiting, signals as descriptors, the clock of a run.

use super::call::{Errno, check, check_fd, check_int};
use super::streams::Direction;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// A pipe: what is written into the second comes out of the first.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [-1i32; 2];
    // SAFETY: room for two descriptors.
    check_int(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    Ok((check_fd(i64::from(ends[0]))?, check_fd(i64::from(ends[1]))?))
}

/// Another number for the same open file, above the three standard ones, closed on exec.
pub fn duplicate(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers.
    Ok(check_fd(i64::from(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) }))?)
}

/// Whether three standard descriptors are open; a caller may have closed some of them.
pub fn is_open(fd: RawFd) -> bool {
    // SAFETY: plain numbers; asking for flags changes nothing.
    unsafe { libc::fcntl(fd, libc::F_GETFD) != -1 }
}

/// Waits until one of the descriptors can be read or is at its end; says which. An empty answer is a time-out.
pub fn readable(fds: &[Option<BorrowedFd<'_>>], timeout: Option<Duration>) -> io::Result<Vec<bool>> {
    let awaited: Vec<_> = fds.iter().map(|fd| fd.map(|fd| (fd, Direction::Read))).collect();
    ready(&awaited, timeout)
}

/// Waits until bytes can go one way on one of the descriptors, or never will; says on which. An
/// empty answer is a time-out.
pub fn ready(awaited: &[Option<(BorrowedFd<'_>, Direction)>], timeout: Option<Duration>) -> io::Result<Vec<bool>> {
    let entry = |awaited: &Option<(BorrowedFd<'_>, Direction)>| match awaited {
        None => libc::pollfd { fd: -1, events: 0, revents: 0 },
        Some((fd, direction)) => {
            let events = match direction {
                Direction::Read => libc::POLLIN,
                Direction::Write => libc::POLLOUT,
            };
            libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 }
        }
    };
    let mut list: Vec<_> = awaited.iter().map(entry).collect();
    let timeout_ms = match timeout {
        None => -1,
        // Rounded up, so that a wait of less than a millisecond does not spin.
        Some(span) => i32::try_from(span.as_micros().div_ceil(1000)).unwrap_or(i32::MAX),
    };
    // SAFETY: the list is valid for its length.
    match check_int(unsafe { libc::poll(list.as_mut_ptr(), list.len() as _, timeout_ms) }) {
        Ok(_) | Err(Errno(libc::EINTR)) => Ok(list.iter().map(|entry| entry.revents != 0).collect()),
        Err(other) => Err(other.into()),
    }
}

/// Whether nothing will come from a stream any more: it is a pipe, a socket or a terminal whose other side is gone, and
/// everything was read. A file and a device never end in this sense.
pub fn is_over(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut entry = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN | libc::POLLRDHUP, revents: 0 };
    // SAFETY: one entry.
    check_int(unsafe { libc::poll(&raw mut entry, 1, 0) })?;
    if entry.revents & (libc::POLLHUP | libc::POLLRDHUP) == 0 {
        return Ok(false);
    }
    let mut waiting: libc::c_int = 0;
    // SAFETY: room for the number.
    match check_int(unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONREAD, &raw mut waiting) }) {
        Ok(_) => Ok(waiting == 0),
        // A terminal that hung up does not even count.
        Err(Errno(libc::EIO)) => Ok(true),
        Err(other) => Err(other.into()),
    }
}

/// Signals that arrive on a descriptor instead of interrupting; the old mask comes back when it is dropped.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
    from: From,
    /// What was taken, 0 for nothing: the word that counts is the one that ends.
    taken: AtomicI32,
}

/// Where signals come from.
#[derive(Debug)]
enum From {
    /// The kernel, instead of interrupting.
    Kernel,
    /// Another part of this program that took them.
    Program,
}

/// Hands signals on to whoever reads the other end.
#[derive(Debug)]
pub struct Passer {
    fd: OwnedFd,
}

impl Passer {
    /// Hands one on. That nobody reads any more is no error: whoever was to be told has ended.
    pub fn pass(&self, signal: i32) {
        let bytes = signal.to_ne_bytes();
        // SAFETY: the bytes are valid for their length.
        unsafe { libc::write(self.fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    }
}

impl Signals {
    /// Blocks these signals for this thread, for as long as it lives, and makes them readable. They stay blocked when
    /// nobody reads any more: one that comes while the outcome is told must not take the outcome's place.
    pub fn watch(signals: &[i32]) -> io::Result<Self> {
        // SAFETY: all-zero is a valid set, and it is valid for the calls.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in signals {
                libc::sigaddset(&raw mut set, *signal);
            }
            check_int(libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()))?;
            let fd = check_fd(i64::from(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)))?;
            Ok(Self { fd, from: From::Kernel, taken: AtomicI32::new(0) })
        }
    }

    /// Signals that somebody else takes from the kernel and hands on: a signal comes once, and several runs wait for it.
    pub fn passed_on() -> io::Result<(Passer, Self)> {
        let mut ends = [-1i32; 2];
        // SAFETY: room for two descriptors.
        check_int(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) })?;
        let (read, write) = (check_fd(i64::from(ends[0]))?, check_fd(i64::from(ends[1]))?);
        Ok((Passer { fd: write }, Self { fd: read, from: From::Program, taken: AtomicI32::new(0) }))
    }

    /// Readable when a signal waits.
    pub fn fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.fd)
    }

    /// The signal by which somebody asked for an end or for a new start; the end counts more. Forgotten by asking.
    pub fn asked(&self) -> Option<i32> {
        Some(self.taken.swap(0, Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// Whether a signal asked for an end or for a new start, and [`Signals::asked`] has not told of it.
    pub fn is_asked(&self) -> bool {
        self.taken.load(Ordering::Relaxed) != 0
    }

    /// The next signal, if one waits.
    pub fn next(&self) -> Option<i32> {
        let signal = self.read()?;
        if signal != WINDOW_CHANGED && (signal != RESTART || self.taken.load(Ordering::Relaxed) == 0) {
            self.taken.store(signal, Ordering::Relaxed);
        }
        Some(signal)
    }

    fn read(&self) -> Option<i32> {
        if matches!(self.from, From::Program) {
            let mut bytes = [0; 4];
            // SAFETY: the bytes are valid for their length.
            let got = check(unsafe { libc::read(self.fd.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) } as i64);
            return (got == Ok(4)).then_some(i32::from_ne_bytes(bytes));
        }
        // SAFETY: all-zero is a valid record.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the record is valid for its size.
        let got = check(unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size) } as i64);
        (got == Ok(size as i64)).then_some(info.ssi_signo as i32)
    }
}

/// The signals by which people and supervisors end a program.
pub const END_SIGNALS: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// Whether one of [`END_SIGNALS`] is blocked and waits to be taken; see sigpending(2).
pub fn is_asked_to_end() -> bool {
    // SAFETY: all-zero is a valid set, and it is valid for the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&raw mut set) == 0
            && END_SIGNALS.iter().any(|signal| libc::sigismember(&raw const set, *signal) == 1)
    }
}

/// The size of the terminal changed.
pub const WINDOW_CHANGED: i32 = libc::SIGWINCH;
/// Somebody wants a service to start anew.
pub const RESTART: i32 = libc::SIGUSR1;
/// What ends a program whose reader is gone.
pub const BROKEN_PIPE: i32 = libc::SIGPIPE;
/// An ordinary request to end.
pub const TERMINATE: i32 = libc::SIGTERM;

/// Makes this process the parent of every orphan among its descendants; see `PR_SET_CHILD_SUBREAPER`
/// in prctl(2).
pub fn adopt_orphans() -> io::Result<()> {
    Ok(super::creds::adopt_orphans()?)
}

/// The effective user and group of this process.
pub fn effective_ids() -> (u32, u32) {
    // SAFETY: no arguments, cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}
