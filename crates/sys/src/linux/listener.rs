//! Answers the calls that the filter notifies.
//!
//! The observer decides nothing: a call that it looks at continues, and the kernel enforces it as if there were no
//! observer. Calls that the filter refuses are refused here by their number alone. Every other call is refused, too.
//!
//! Runs in a cloned process: no allocation, no locks, no formatting.

use super::call::{Errno, check_int};
use super::denials::{DenialKind, Denials};
use super::image::InsideImage;
use super::notify::{NOTIF_RECV, NOTIF_SET_FLAGS, Notification, SYNC_WAKE_UP};
use super::notify::{proceed, respond};
use super::observer::{Observer, Standing, standing};
use super::{setgid, syscalls};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// The listener of one run.
pub(crate) struct Listener<'a> {
    socket: Option<OwnedFd>,
    observer: Option<Observer<'a>>,
    denials: Denials,
    /// Whether nobody is left under the filter.
    is_over: bool,
}

impl<'a> Listener<'a> {
    pub(crate) fn new(inside: &InsideImage<'a>) -> Self {
        let observer = inside.observe.map(Observer::new);
        Self { socket: None, observer, denials: Denials::new(), is_over: false }
    }

    pub(crate) const fn is_needed(&self) -> bool {
        self.observer.is_some()
    }

    pub(crate) fn with_socket(self, socket: Option<OwnedFd>) -> Self {
        if let Some(socket) = &socket {
            // The command and we take turns, so we should share a CPU; kernels before 6.6 do not know the flag.
            // SAFETY: the request takes a number.
            unsafe { libc::ioctl(socket.as_raw_fd(), NOTIF_SET_FLAGS as _, SYNC_WAKE_UP) };
        }
        Self { socket, ..self }
    }

    /// What to wait for, as long as somebody can call.
    pub(crate) fn socket(&self) -> RawFd {
        self.socket.as_ref().filter(|_| !self.is_over).map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Nobody is left under the filter. It is let go of with everything else: taking it apart now would hold up the last
    /// one, who has not quite ended.
    pub(crate) const fn end(&mut self) {
        self.is_over = true;
    }

    /// Looks once more for what was missing: the command has ended.
    pub(crate) fn look_again(&mut self) {
        self.denials.look_again();
    }

    /// Takes one call and answers it.
    pub(crate) fn answer(&mut self, control: BorrowedFd<'_>) {
        let Some(socket) = &self.socket else { return };
        // SAFETY: all-zero is what the kernel wants to receive into.
        let mut call: Notification = unsafe { std::mem::zeroed() };
        // SAFETY: the request writes one notification.
        let got = check_int(unsafe { libc::ioctl(socket.as_raw_fd(), NOTIF_RECV as _, &raw mut call) });
        if got.is_err() {
            // The caller of the call is gone.
            return;
        }
        self.decide(&call, control);
        // Afterwards: what the look itself found out about where the caller is, is what the call changes. The caller's next
        // call waits until we are done.
        if let Some(observer) = &mut self.observer {
            observer.hear(&call);
        }
    }

    fn decide(&mut self, call: &Notification, control: BorrowedFd<'_>) {
        let Self { socket, observer, denials, is_over: _ } = self;
        let Some(socket) = socket else { return };
        let socket = socket.as_fd();
        // What a path leads to is known only to who has opened it, so these never continue.
        if setgid::takes(call) {
            return respond(socket, call.id, setgid::answer(call, socket));
        }
        // The process is named by a register, which nothing changes any more.
        if i64::from(call.nr) == libc::SYS_prlimit64 {
            return match is_ours(call.args[0] as i32) {
                true => respond(socket, call.id, Err(Errno(libc::EPERM))),
                false => proceed(socket, call.id),
            };
        }
        match (standing(i64::from(call.nr)), observer) {
            (Standing::Watched, Some(observer)) => {
                observer.look(call, denials, control);
                proceed(socket, call.id);
            }
            (Standing::Refused(errno), Some(_)) => {
                denials.note(DenialKind::SystemCall, call.nr as u32, call.pid, b"", control);
                let errno = syscalls::refusal(i64::from(call.nr), &call.args).map_or(errno, Errno);
                respond(socket, call.id, Err(errno));
            }
            // The filter notifies nothing else; if it did, the answer must not be yes.
            (Standing::Unknown, _) | (_, None) => respond(socket, call.id, Err(Errno(libc::EPERM))),
        }
    }
}

/// Whether a process is the shim, or the first one, which in some engines is another program's.
fn is_ours(pid: i32) -> bool {
    // SAFETY: the call only gives a number.
    pid == 1 || pid == unsafe { libc::getpid() }
}
