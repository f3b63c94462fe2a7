//! The first process of a container, which lets runs in.
//!
//! A container is a wall around a place in which our own sandboxes are made: whoever starts the container starts this
//! program in it, and that comes out to us by a socket, the door. Each run then gets namespaces, a root and a shim of its
//! own inside, as on the host. The container is believed nothing: what a run must not have, its own sandbox keeps from it.
//!
//! Nothing inside can speak to the porter: it listens nowhere. When its caller is gone, for whatever reason, it ends, and
//! with it, as the first process, everything in the container.

use super::call::{Errno, check, check_fd, check_int};
use super::child::{self, Stage};
use super::launched::{NAMESPACES, clone_into};
use super::mapped::map_self;
use super::recipe::NetNamespace;
use super::wire::{self, Record, Tag};
use super::{creds, shim};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

/// The first argument of a program that is asked to be the porter.
pub(crate) const ARGUMENT: &str = "polder-porter";
/// The porter maps the ids of a run.
pub(crate) const MAPS: i32 = 0o10000;
/// Where the door is inside.
const INSIDE: &str = "/.polder/door/socket";

/// The address of a socket whose path is short.
pub(crate) fn address(path: &str) -> libc::sockaddr_un {
    // SAFETY: all-zero is a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path.iter_mut().zip(path.bytes()) {
        *to = from as libc::c_char;
    }
    address
}

/// The life of the porter.
pub(crate) fn live() -> ! {
    shim::block_all_signals();
    // SAFETY: a plain number and a constant: the kernel collects whoever ends.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let control = match come_out() {
        Ok(control) => control,
        Err(errno) => {
            // Nobody else hears of it: the caller waits behind the door.
            let text = format!("cannot come out by `{INSIDE}`: {errno}\n");
            // In one piece: a log may lose a part of a line. One that cannot be written is the end all the same.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
            shim::exit(125)
        }
    };
    // The command of a run has our uid, perhaps, and must not look into us.
    if creds::not_dumpable().and_then(|()| creds::gain_nothing_by_exec()).is_err() {
        shim::exit(125)
    }
    loop {
        let mut handed = [None];
        let Ok(Some(record)) = wire::receive(control.as_fd(), &mut handed) else {
            await_shims();
            shim::exit(0)
        };
        let [Some(socket)] = handed else { shim::exit(125) };
        let answer = if record.tag == Tag::Enter as u32 {
            let_in(&record, &socket, control.as_fd())
        } else {
            Err((Stage::Recipe, Errno(libc::EBADMSG)))
        };
        drop(socket);
        let told = match answer {
            Ok(handle) => wire::send(control.as_fd(), &Record::new(Tag::Entered), &[handle.as_raw_fd()]),
            Err((stage, errno)) => {
                let record = Record { a: stage as i32, c: errno.0, ..Record::new(Tag::Failed) };
                wire::send(control.as_fd(), &record, &[])
            }
        };
        if told.is_err() {
            shim::exit(0)
        }
    }
}

/// How long the shims may take for their last work when the caller is gone.
const SHIMS_END_ROUNDS_MAX: u32 = 400;
const SHIMS_END_ROUND_MS: i32 = 5;

/// Waits for the shims, which hear of the caller's end as well: the container ends with its first
/// process, and a shim that is killed sets nothing aside.
fn await_shims() {
    for _ in 0..SHIMS_END_ROUNDS_MAX {
        // SAFETY: no status is asked for, and no descriptors are given, only a time.
        unsafe {
            // With SIGCHLD ignored there is nothing to collect: 0 while one is left, ECHILD after that.
            if libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG) == -1 {
                return;
            }
            libc::poll(ptr::null_mut(), 0, SHIMS_END_ROUND_MS);
        }
    }
}

/// Goes to the door.
fn come_out() -> Result<OwnedFd, Errno> {
    let address = address(INSIDE);
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: plain numbers; the address is valid for its length.
    unsafe {
        let socket = check_fd(i64::from(libc::socket(libc::AF_UNIX, kind, 0)))?;
        let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        check_int(libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length))?;
        Ok(socket)
    }
}

/// Makes the shim of a run, in namespaces of its own; gives a handle on it.
fn let_in(record: &Record, socket: &OwnedFd, control: BorrowedFd<'_>) -> Result<OwnedFd, (Stage, Errno)> {
    let at = |stage| move |errno| (stage, errno);
    for (path, callers) in [(c"/proc/self/ns/pid", record.d), (c"/proc/self/ns/mnt", record.e)] {
        match child::number_of(path) {
            // Nobody has made a container around us.
            Ok(own) if own == callers || callers == 0 => return Err((Stage::Ground, Errno(libc::EPERM))),
            Ok(_) => {}
            Err(errno) => return Err((Stage::Ground, errno)),
        }
    }
    let net = if record.f == 1 { NetNamespace::Own } else { NetNamespace::Host };
    // For as long as it takes to write the maps: those of a process that is not are root's.
    dumpable(1).map_err(at(Stage::Maps))?;
    let made = clone_into(NAMESPACES, None, || {
        // SAFETY: the shim waits for its children by itself; the porter's own socket is not its business.
        unsafe {
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            libc::umask(record.c as libc::mode_t & 0o777);
            libc::close(control.as_raw_fd());
        }
        // SAFETY: the child's copy of the socket; duplicated so that the closure does not move the porter's.
        let own = unsafe { OwnedFd::from_raw_fd(libc::fcntl(socket.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3)) };
        // SAFETY: as above.
        unsafe { libc::close(socket.as_raw_fd()) };
        // For want of memory a run ends before the porter does, which tells why. Where this fails, nothing is worse.
        let _ = creds::write_file(c"/proc/self/oom_score_adj", b"300");
        shim::live(net, own)
    });
    let mapped = made.map_err(at(Stage::Identity)).and_then(|mut made| {
        if record.c & MAPS != 0 {
            let mapped = map_self(made.pid, record.a as u32, record.b as u32);
            mapped.map_err(|error| (Stage::Maps, error.errno().unwrap_or(Errno(libc::EPERM))))?;
        }
        // SAFETY: plain numbers; the result is a new descriptor.
        let handle = unsafe { libc::fcntl(made.pidfd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) };
        let handle = check_fd(i64::from(handle)).map_err(at(Stage::Descriptors))?;
        made.let_go();
        Ok(handle)
    });
    dumpable(0).map_err(at(Stage::Maps))?;
    mapped
}

fn dumpable(value: libc::c_ulong) -> Result<(), Errno> {
    let none: libc::c_ulong = 0;
    // SAFETY: plain numbers.
    check(i64::from(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, value, none, none, none) })).map(drop)
}
