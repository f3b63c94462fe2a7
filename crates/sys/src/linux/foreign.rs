//! A sandbox whose ground another program builds. Our shim is what it starts.
//!
//! The program gets these at fixed numbers beside its own three streams: the shim's end of the control socket, the shim
//! itself, so that no path has to lead to it inside, and whatever the engine adds. The shim then gets its recipe over
//! the socket, as every other shim does.
//!
//! Where the engine asks for it, we build a stage around the program first; see [`Staging`].

use super::call::{Errno, check, check_int};
use super::cell::prepare;
use super::cgroup::Entrance;
use super::child::{Failure, Stage, at, build_stage};
use super::launched::{Go, Launched, SpawnError, caller, clone_into, socket_pair};
use super::recipe::{Inside, Staging};
use super::wire::{self, DESCRIPTORS_MAX};
use super::{creds, image, shim};
use crate::Command;
use std::ffi::{CString, OsStr};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
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
    /// What is built around the program first.
    pub staging: Option<&'a Staging>,
    /// The run's cgroup, if it has one. The program is in it, too.
    pub cgroup: Option<&'a Entrance>,
    /// What the shim does inside.
    pub inside: &'a Inside,
    /// The command's streams.
    pub stdio: &'a [OwnedFd; 3],
}

/// A file with this content and without a name, for a program that reads its settings from a descriptor.
pub fn in_memory(content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(super::launched::in_memory(&[])?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file.into())
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
    let Foreign { program, added, staging, cgroup, inside, stdio } = *foreign;
    let io = |what, call| move |error: io::Error| caller(what, call)(Errno(error.raw_os_error().unwrap_or(libc::EIO)));
    let own = std::fs::File::open("/proc/self/exe").map_err(io("open the shim", "open /proc/self/exe"))?;
    let null =
        std::fs::File::options().read(true).write(true).open("/dev/null").map_err(io("open /dev/null", "open"))?;
    let (mut said, says) = io::pipe().map_err(io("make a pipe", "pipe2"))?;
    let (ours, theirs) = socket_pair().map_err(caller("make the control socket", "socketpair"))?;
    let placed = [null.as_raw_fd(), null.as_raw_fd(), says.as_raw_fd(), theirs.as_raw_fd(), own.as_raw_fd()];
    let placed: Vec<RawFd> = placed.into_iter().chain(added.iter().map(AsRawFd::as_raw_fd)).collect();
    let mut moved = vec![-1; placed.len()];
    let (argv, envp) = (pointers(&program.argv), pointers(&program.env));
    let steps = staging.map(|staging| image::encode_steps(&staging.steps));
    let stage = staging.zip(steps.as_deref()).map(|(staging, steps)| Staged { staging, steps });
    let (born, doors) = match cgroup {
        Some(Entrance::Born(directory)) => (Some(directory.as_fd()), &[][..]),
        Some(Entrance::Join(doors)) => (None, doors.as_slice()),
        None => (None, &[][..]),
    };
    let namespaces = if staging.is_some() { (libc::CLONE_NEWUSER | libc::CLONE_NEWNS) as u64 } else { 0 };
    let child = clone_into(namespaces, born, || {
        if let Err(failure) = before(doors, stage.as_ref(), theirs.as_fd()) {
            let _ = wire::send(theirs.as_fd(), &shim::failed(failure), &[]);
            shim::exit(125)
        }
        let _ = execute(program, &placed, &mut moved, &argv, &envp);
        // Its standard error is a pipe to the caller by now.
        let _ = creds::write_once(2, b"it cannot be executed here");
        shim::exit(127)
    })
    .map_err(|errno| match staging {
        Some(_) => SpawnError::Namespaces { errno },
        None => SpawnError::Caller { what: "start the program".to_owned(), call: "clone3", errno },
    })?;
    drop((theirs, says, own, null));
    let launched = Launched::new(child, ours);
    let steps = match staging {
        None => inside.made.as_slice(),
        Some(staging) => {
            launched.stage(|child| prepare(child, staging.identity, &staging.steps, stdio))?;
            staging.steps.as_slice()
        }
    };
    let go = Go { image: image::encode(None, inside), stdio, doors: 0, more: &[] };
    match launched.start(&go, steps) {
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

/// A stage, as the child reads it.
struct Staged<'a> {
    staging: &'a Staging,
    steps: &'a [u8],
}

/// In the child, before the program: joins the cgroup, and builds the stage when the caller has done its part.
fn before(doors: &[OwnedFd], stage: Option<&Staged<'_>>, control: BorrowedFd<'_>) -> Result<(), Failure> {
    at(Stage::Lifeline, creds::die_with_parent(libc::SIGKILL))?;
    // Join before the identity changes: afterwards we are nobody and the write is refused.
    for door in doors {
        at(Stage::Cgroup, creds::write_once(door.as_raw_fd(), b"0"))?;
    }
    let Some(Staged { staging, steps }) = stage else { return Ok(()) };
    let malformed = Failure { stage: Stage::Recipe, index: 0, errno: Errno(libc::EBADMSG) };
    let steps = image::decode_steps(steps).ok_or(malformed)?;
    let mut trees = [const { None::<OwnedFd> }; DESCRIPTORS_MAX];
    shim::wait_for_go(control, &mut trees)?;
    // SAFETY: plain numbers. Modes on the stage are given exactly; the program gets the caller's mask again.
    let mask = unsafe { libc::umask(0) };
    build_stage(staging.identity, staging.scratch_bytes, Staging::PLACE, steps, &mut trees)?;
    // SAFETY: as above.
    unsafe { libc::umask(mask) };
    Ok(())
}

/// From the clone to the program: places the descriptors, and closes the rest.
fn execute(
    program: &Command,
    placed: &[RawFd],
    moved: &mut [RawFd],
    argv: &[*const libc::c_char],
    envp: &[*const libc::c_char],
) -> Result<(), Errno> {
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
