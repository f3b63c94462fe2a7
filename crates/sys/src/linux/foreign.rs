//! A sandbox whose ground another program builds: bubblewrap, firejail, nsjail. Our shim is what they start.
//!
//! The program gets four things at fixed numbers beside its own three streams: the shim's end of the control socket, the
//! shim itself, so that no path has to lead to it inside, and whatever the engine adds. The shim then gets its recipe
//! over the socket, as every other shim does.

use super::call::{Errno, check, check_int};
use super::image;
use super::launched::{Go, Launched, SpawnError, caller, clone_into, socket_pair};
use super::recipe::Inside;
use super::{creds, shim};
use crate::Command;
use std::ffi::{CString, OsStr};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The first argument of a program that is asked to be the shim; the second is the number of the control socket.
const ARGUMENT: &str = "polder-shim";
/// The number of the control socket in the program and in the shim.
const CONTROL: RawFd = 3;
/// The number of the shim's own file.
const PROGRAM: RawFd = 4;
/// The number of the first descriptor that an engine adds.
pub const FIRST_ADDED: RawFd = 5;
/// What a program that failed may have said.
const SAID_MAX: u64 = 4096;

/// Whether this program becomes the shim when it is asked to.
static CAN_BE_SHIM: AtomicBool = AtomicBool::new(false);

/// Makes this program one that can be the shim, and becomes it when asked; call it first in `main`.
pub fn become_shim_if_asked() {
    CAN_BE_SHIM.store(true, Ordering::Relaxed);
    let mut args = std::env::args_os().skip(1);
    if args.next().as_deref() != Some(OsStr::new(ARGUMENT)) {
        return;
    }
    let control = args.next().and_then(|text| text.to_str()?.parse::<RawFd>().ok());
    let Some(control) = control.filter(|number| *number == CONTROL) else {
        // Somebody typed it; engines give the number.
        shim::exit(125)
    };
    // SAFETY: the caller gave it to us under this number, and nobody else in this program knows of it.
    let control = unsafe { OwnedFd::from_raw_fd(control) };
    // SAFETY: plain numbers; closed by every exec, because whoever holds it can speak as the shim.
    unsafe { libc::fcntl(CONTROL, libc::F_SETFD, libc::FD_CLOEXEC) };
    shim::live_on_built(control)
}

/// What an engine's program has to execute to start the shim: a file that leads to a descriptor, and its arguments.
pub fn shim_argv() -> [CString; 3] {
    [format!("/proc/self/fd/{PROGRAM}"), ARGUMENT.to_owned(), CONTROL.to_string()]
        .map(|text| CString::new(text).expect("invariant: digits and literals have no NUL byte"))
}

/// An engine's program.
#[derive(Debug)]
pub struct Foreign<'a> {
    /// The program: one candidate, arguments and environment as for any command. Its terminal is not used.
    pub program: &'a Command,
    /// Descriptors that it gets from [`FIRST_ADDED`] on.
    pub added: &'a [OwnedFd],
    /// What the shim does inside.
    pub inside: &'a Inside,
    /// The command's streams.
    pub stdio: &'a [OwnedFd; 3],
}

/// Why a foreign program did not bring the command to life.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// Nobody can be the shim.
    #[error("this program cannot be the shim of a sandbox")]
    NoShim,
    /// The program ended before the shim spoke; what it said.
    #[error("it ended before it started anything: {said}")]
    Ended {
        /// The last words on its standard error.
        said: String,
    },
    /// The launch failed in another way.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

/// Starts the program and, through it, the shim; returns when the command has been executed.
pub fn spawn_foreign(foreign: &Foreign<'_>) -> Result<Launched, ForeignError> {
    if !CAN_BE_SHIM.load(Ordering::Relaxed) {
        return Err(ForeignError::NoShim);
    }
    let Foreign { program, added, inside, stdio } = *foreign;
    let io =
        |what, call| move |error: std::io::Error| caller(what, call)(Errno(error.raw_os_error().unwrap_or(libc::EIO)));
    let own = std::fs::File::open("/proc/self/exe").map_err(io("open the shim", "open /proc/self/exe"))?;
    let null =
        std::fs::File::options().read(true).write(true).open("/dev/null").map_err(io("open /dev/null", "open"))?;
    let (mut said, says) = std::io::pipe().map_err(io("make a pipe", "pipe2"))?;
    let (ours, theirs) = socket_pair().map_err(caller("make the control socket", "socketpair"))?;
    let placed = [null.as_raw_fd(), null.as_raw_fd(), says.as_raw_fd(), theirs.as_raw_fd(), own.as_raw_fd()];
    let placed: Vec<RawFd> = placed.into_iter().chain(added.iter().map(AsRawFd::as_raw_fd)).collect();
    let mut moved = vec![-1; placed.len()];
    let (argv, envp) = (pointers(&program.argv), pointers(&program.env));
    let child = clone_into(0, None, || {
        let _ = execute(program, &placed, &mut moved, &argv, &envp);
        // Its standard error is a pipe to the caller, who sees that nothing came.
        shim::exit(127)
    })
    .map_err(|errno| SpawnError::Caller { what: "start the program".to_owned(), call: "clone3", errno })?;
    drop((theirs, says, own, null));
    let go = Go { image: image::encode(None, inside), stdio, doors: 0, more: &[] };
    match (Launched { shim: child, control: ours, master: None, main: None }).start(&go, &[]) {
        Err(SpawnError::Vanished) => {
            let mut text = Vec::new();
            // The program is gone, so the pipe ends; what cannot be read was not said.
            let _ = said.by_ref().take(SAID_MAX).read_to_end(&mut text);
            let text = String::from_utf8_lossy(&text).trim().to_owned();
            Err(ForeignError::Ended { said: if text.is_empty() { "it said nothing".to_owned() } else { text } })
        }
        other => Ok(other?),
    }
}

/// From the clone to the program: places the descriptors, and closes the rest.
fn execute(
    program: &Command,
    placed: &[RawFd],
    moved: &mut [RawFd],
    argv: &[*const libc::c_char],
    envp: &[*const libc::c_char],
) -> Result<(), Errno> {
    creds::die_with_parent(libc::SIGKILL)?;
    // SAFETY: plain numbers, static sets, and C strings and lists that outlive the calls.
    unsafe {
        libc::setsid();
        // All above the numbers that they are placed at, so that none is overwritten before it is placed.
        for (from, to) in placed.iter().zip(moved.iter_mut()) {
            *to = check_int(libc::fcntl(*from, libc::F_DUPFD_CLOEXEC, placed.len() as RawFd))?;
        }
        for (number, from) in moved.iter().enumerate() {
            check_int(libc::dup2(*from, number as RawFd))?;
        }
        check(libc::syscall(libc::SYS_close_range, placed.len(), libc::c_uint::MAX, 0))?;
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        check_int(libc::chdir(program.workdir.as_ptr()))?;
        for candidate in &program.candidates {
            libc::execve(candidate.as_ptr(), argv.as_ptr(), envp.as_ptr());
        }
    }
    Err(Errno::last())
}

/// A list as exec wants it: pointers to C strings, ended by null.
fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}
