//! What the shim and the caller say to each other: short records of one size over a seqpacket socket.
//!
//! Used between clone and exec: nothing here allocates. The caller's end is also the lifeline: when it closes, for
//! whatever reason, the shim ends and the kernel takes the whole pid namespace with it.

use super::call::{Errno, check, check_int};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// How many descriptors one record can carry; the kernel's own limit is 253.
pub(crate) const DESCRIPTORS_MAX: usize = 200;

/// The kinds of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Tag {
    /// Shim: the command was started; a descriptor of its process is attached.
    Ready = 1,
    /// Shim: a step of the set-up failed. a: stage, b: index, c: errno, d: call.
    Failed = 2,
    /// Shim: the command could not be executed. c: errno.
    NotStarted = 3,
    /// Shim: the command ended. a: wait status, d: cpu in µs, e: peak in KiB, f: flags.
    Ended = 4,
    /// Shim: the master side of the terminal is attached.
    Master = 5,
    /// Shim: there is a new entry in the table of denials. a: its index.
    Observed = 6,
    /// Shim: the table of denials is attached.
    Denials = 7,
    /// Caller: the maps are written, go on; mapped trees are attached.
    Go = 16,
    /// Caller: what the recipe waits for is there; what is to be kept is attached, and mapped trees.
    Word = 19,
    /// Caller, to a porter: let a run in, whose shim speaks by the attached socket. a, b: uid and gid inside, c: the
    /// caller's umask, and 0o10000 if the porter maps them, d, e: the caller's pid and mount namespace, f: whether the run has a network of its own.
    Enter = 20,
    /// Porter: the run is in; a descriptor of its shim is attached.
    Entered = 21,
    /// Caller: send this signal to the command. a: the signal.
    Signal = 17,
    /// Caller: what must not stay is set aside, and nothing is left to do.
    Tidy = 18,
}

/// The private file systems were full when the command ended.
pub(crate) const FLAG_DISK_FULL: u64 = 1;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Record {
    pub(crate) tag: u32,
    pub(crate) a: i32,
    pub(crate) b: i32,
    pub(crate) c: i32,
    pub(crate) d: u64,
    pub(crate) e: u64,
    pub(crate) f: u64,
}

impl Record {
    pub(crate) const fn new(tag: Tag) -> Self {
        Self { tag: tag as u32, a: 0, b: 0, c: 0, d: 0, e: 0, f: 0 }
    }
}

/// Room for the descriptors of one record, aligned as the kernel's header wants it.
#[repr(C, align(8))]
struct ControlBuffer([u8; 16 + 4 * DESCRIPTORS_MAX]);

/// How often a record with descriptors is sent for which there is no room among those that are on their way.
const CROWDED_TRIES_MAX: u32 = 5_000;
/// Between two of them.
const CROWDED_PAUSE_NS: libc::c_long = 1_000_000;

/// Sends a record, with descriptors if there are any.
pub(crate) fn send(socket: BorrowedFd<'_>, record: &Record, descriptors: &[RawFd]) -> Result<(), Errno> {
    let mut tries = 1;
    loop {
        match send_as(socket, record, descriptors, libc::MSG_NOSIGNAL) {
            // The kernel counts what is on its way between all processes of a user. Whoever is to receive it does so soon.
            Err(Errno(libc::ETOOMANYREFS)) if tries < CROWDED_TRIES_MAX => {
                tries += 1;
                let pause = libc::timespec { tv_sec: 0, tv_nsec: CROWDED_PAUSE_NS };
                // SAFETY: the span outlives the call.
                unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) };
            }
            answer => return answer,
        }
    }
}

fn send_as(socket: BorrowedFd<'_>, record: &Record, descriptors: &[RawFd], flags: libc::c_int) -> Result<(), Errno> {
    let mut part = libc::iovec { iov_base: (&raw const *record).cast_mut().cast(), iov_len: size_of::<Record>() };
    let mut control = ControlBuffer([0; 16 + 4 * DESCRIPTORS_MAX]);
    // SAFETY: all-zero is a valid `msghdr`.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    if !descriptors.is_empty() {
        if descriptors.len() > DESCRIPTORS_MAX {
            return Err(Errno(libc::E2BIG));
        }
        let bytes = size_of_val(descriptors) as u32;
        // SAFETY: the buffer is larger than CMSG_SPACE of the largest list, and aligned for its header.
        unsafe {
            header.msg_control = control.0.as_mut_ptr().cast();
            header.msg_controllen = libc::CMSG_SPACE(bytes) as _;
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(bytes) as _;
            std::ptr::copy_nonoverlapping(descriptors.as_ptr().cast::<u8>(), libc::CMSG_DATA(first), bytes as usize);
        }
    }
    // SAFETY: the header points at buffers that outlive the call.
    check(unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, flags) } as i64).map(drop)
}

/// Sends a record if the other side has room for it right now.
pub(crate) fn try_send(socket: BorrowedFd<'_>, record: &Record) -> Result<(), Errno> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the record is valid for its size.
    check(unsafe { libc::send(socket.as_raw_fd(), (&raw const *record).cast(), size_of::<Record>(), flags) } as i64)
        .map(drop)
}

/// The same with descriptors.
pub(crate) fn try_send_with(socket: BorrowedFd<'_>, record: &Record, descriptors: &[RawFd]) -> Result<(), Errno> {
    send_as(socket, record, descriptors, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
}

/// How long to look again and again before sleeping: about as long as it takes to be woken up.
const SOON: u32 = 400;

/// Receives a record that is expected any moment: looks for it a while before it sleeps.
pub(crate) fn receive_soon(
    socket: BorrowedFd<'_>,
    descriptors: &mut [Option<OwnedFd>],
) -> Result<Option<Record>, Errno> {
    for _ in 0..SOON {
        match receive_with(socket, descriptors, libc::MSG_DONTWAIT) {
            // Who is to send it may wait for this very CPU.
            Err(Errno(libc::EAGAIN)) => std::thread::yield_now(),
            other => return other,
        }
    }
    receive(socket, descriptors)
}

/// Waits until the other side is gone; says whether a record of this kind was its word to the last.
pub(crate) fn hears_before_end(socket: BorrowedFd<'_>, tag: Tag) -> bool {
    // The other side is on its way out when this wakes us, and what is left for us to do must not hold it up.
    super::creds::yield_to_others();
    // Nothing is asked for, so only the end wakes us, and not a record before it.
    let mut end = libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: one entry, valid for the call.
    while check_int(unsafe { libc::poll(&raw mut end, 1, -1) }) == Err(Errno(libc::EINTR)) {}
    let mut heard = false;
    while let Ok(Some(record)) = receive_with(socket, &mut [], libc::MSG_DONTWAIT) {
        heard |= record.tag == tag as u32;
    }
    heard
}

/// Receives a record into `descriptors`; gives the record and how many descriptors came. `None` is the end.
pub(crate) fn receive(socket: BorrowedFd<'_>, descriptors: &mut [Option<OwnedFd>]) -> Result<Option<Record>, Errno> {
    receive_with(socket, descriptors, 0)
}

fn receive_with(
    socket: BorrowedFd<'_>,
    descriptors: &mut [Option<OwnedFd>],
    flags: libc::c_int,
) -> Result<Option<Record>, Errno> {
    let mut record = Record { tag: 0, a: 0, b: 0, c: 0, d: 0, e: 0, f: 0 };
    let mut part = libc::iovec { iov_base: (&raw mut record).cast(), iov_len: size_of::<Record>() };
    let mut control = ControlBuffer([0; 16 + 4 * DESCRIPTORS_MAX]);
    // SAFETY: all-zero is a valid `msghdr`.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = size_of::<ControlBuffer>() as _;
    let got = loop {
        // SAFETY: the header points at buffers that outlive the call.
        match check(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC | flags) } as i64)
        {
            Err(Errno(libc::EINTR)) => {}
            other => break other?,
        }
    };
    if got == 0 {
        return Ok(None);
    }
    if got as usize != size_of::<Record>() || header.msg_flags & libc::MSG_CTRUNC != 0 {
        return Err(Errno(libc::EBADMSG));
    }
    // SAFETY: the kernel filled the control buffer; the macros walk within its length.
    unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const header);
        if !first.is_null() && (*first).cmsg_type == libc::SCM_RIGHTS {
            let bytes = (*first).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            let numbers = libc::CMSG_DATA(first).cast::<RawFd>();
            for i in 0..bytes / size_of::<RawFd>() {
                let owned = OwnedFd::from_raw_fd(numbers.add(i).read_unaligned());
                match descriptors.get_mut(i) {
                    Some(place) => *place = Some(owned),
                    None => drop(owned),
                }
            }
        }
    }
    Ok(Some(record))
}
