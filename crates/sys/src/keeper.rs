//! A command on the host itself, and the process that keeps its tree together.
//!
//! Between polder and the command stands the keeper: it starts the command in a session of its own, passes signals on,
//! and ends what the command started when the command ends, when polder asks for it, and when polder is gone, for
//! whatever reason: then the control socket closes. It restricts nothing. Written with calls that every Unix has; what
//! systems do differently is in `os`.

mod life;
#[cfg_attr(target_os = "linux", path = "keeper/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "keeper/portable.rs")]
mod os;

use crate::command::{Command, Rlimit, Terminal, TerminalSize};
use crate::errno::{Errno, check_int};
use life::{ORDER_BYTES, REPORT_NUMBERS, Stage, Tag, Verb};
use std::ffi::CString;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::time::Duration;

/// The number of open files of one process, as an [`Rlimit`] names it; systems and libraries disagree on its type.
#[expect(clippy::unnecessary_cast, reason = "its type differs between systems")]
pub const OPEN_FILES: u32 = libc::RLIMIT_NOFILE as u32;

/// Why a command did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There was something to be done first, and it failed.
    #[error("cannot {what}: {call}: {errno}")]
    Setup {
        /// What was being done.
        what: &'static str,
        /// The call.
        call: &'static str,
        /// The kernel's answer.
        errno: Errno,
    },
    /// It could not be executed.
    #[error("cannot execute the command: {errno}")]
    NotStarted {
        /// The kernel's answer.
        errno: Errno,
    },
    /// The keeper vanished before it said anything.
    #[error("the process that starts the command vanished")]
    Vanished,
}

/// A command that runs, and what it started. Dropping it ends them.
#[derive(Debug)]
pub struct Kept {
    /// Absent only while it is dropped: closing it is what tells the keeper to end.
    control: Option<UnixStream>,
    keeper: i32,
    master: Option<OwnedFd>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The exit code, if it exited.
    pub code: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// CPU time of everything that was waited for.
    pub cpu: Duration,
    /// The largest resident set of one process.
    pub peak_rss_bytes: u64,
}

/// Starts a command; returns when it has been executed, or with what kept it from that.
pub fn start(command: &Command, stdio: &[OwnedFd; 3], rlimits: &[Rlimit]) -> Result<Kept, StartError> {
    let setup = |what, call| move |errno| StartError::Setup { what, call, errno };
    let (ours, theirs) = UnixStream::pair()
        .map_err(|error| setup("make the control socket", "socketpair")(Errno(error.raw_os_error().unwrap_or(0))))?;
    let terminal = command.terminal.map(open_terminal).transpose().map_err(setup("make the terminal", "openpty"))?;
    let (master, slave) = terminal.unzip();
    let streams: [RawFd; 3] = [0, 1, 2].map(|number: usize| match (&slave, command.terminal) {
        (Some(slave), Some(terminal)) if terminal.streams.contains(number) => slave.as_raw_fd(),
        _ => stdio[number].as_raw_fd(),
    });
    // Whatever the child needs is made here, because making it allocates.
    let (argv, envp) = (pointers(&command.argv), pointers(&command.env));
    let ready = life::Ready {
        command,
        rlimits,
        argv: &argv,
        envp: &envp,
        streams,
        control: theirs.as_raw_fd(),
        callers_end: ours.as_raw_fd(),
    };
    let keeper = os::fork(|| life::live(&ready)).map_err(setup("start a process", "fork"))?;
    drop((theirs, slave));
    let mut kept = Kept { control: Some(ours), keeper, master };
    // Dropped on failure, which waits for the keeper.
    match kept.receive() {
        Some([tag, ..]) if tag == Tag::Ready as i64 => Ok(kept),
        Some([tag, stage, errno, ..]) if tag == Tag::Failed as i64 => {
            let errno = Errno(i32::try_from(errno).unwrap_or(libc::EIO));
            match Stage::from_number(stage) {
                Some(Stage::Execute) => Err(StartError::NotStarted { errno }),
                Some(stage) => {
                    let (what, call) = stage.words();
                    Err(StartError::Setup { what, call, errno })
                }
                None => Err(StartError::Vanished),
            }
        }
        _ => Err(StartError::Vanished),
    }
}

impl Kept {
    /// Readable when the command has ended.
    pub fn reports(&self) -> BorrowedFd<'_> {
        self.control.as_ref().expect("invariant: taken by drop only").as_fd()
    }

    /// Waits until the command and what it started have ended; absent when the keeper vanished.
    pub fn ended(&mut self) -> Option<Ended> {
        let [tag, status, cpu_micros, peak_bytes] = self.receive()?;
        let status = i32::try_from(status).ok().filter(|_| tag == Tag::Ended as i64)?;
        Some(Ended {
            code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
            signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
            cpu: Duration::from_micros(u64::try_from(cpu_micros).unwrap_or(0)),
            peak_rss_bytes: u64::try_from(peak_bytes).unwrap_or(0),
        })
    }

    /// The caller's side of the terminal, if the command has one.
    pub fn take_master(&mut self) -> Option<OwnedFd> {
        self.master.take()
    }

    /// Sends a signal to the command's process group. A command that is gone already is not an error.
    pub fn signal(&self, signal: i32) {
        self.order(Verb::Signal, signal);
    }

    /// Ends the command and what it started.
    pub fn kill(&self) {
        self.order(Verb::Kill, 0);
    }

    fn order(&self, verb: Verb, number: i32) {
        let mut bytes = [0; ORDER_BYTES];
        bytes[..4].copy_from_slice(&(verb as i32).to_ne_bytes());
        bytes[4..].copy_from_slice(&number.to_ne_bytes());
        // A keeper that is gone has ended everything.
        let _ = self.control.as_ref().map(|mut control| control.write_all(&bytes));
    }

    fn receive(&mut self) -> Option<[i64; REPORT_NUMBERS]> {
        let mut bytes = [0; 8 * REPORT_NUMBERS];
        self.control.as_mut()?.read_exact(&mut bytes).ok()?;
        let mut numbers = [0; REPORT_NUMBERS];
        for (number, chunk) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
            *number = i64::from_ne_bytes(chunk.try_into().expect("invariant: chunks of eight"));
        }
        Some(numbers)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Closing our end tells the keeper; it exits when nobody is left.
        drop(self.control.take());
        // SAFETY: waits for our own child, whose status nobody needs.
        while check_int(unsafe { libc::waitpid(self.keeper, ptr::null_mut(), 0) }) == Err(Errno(libc::EINTR)) {}
    }
}

/// A terminal: our side and the command's.
fn open_terminal(terminal: Terminal) -> Result<(OwnedFd, OwnedFd), Errno> {
    let TerminalSize { rows, columns } = terminal.size;
    let mut size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut master, mut slave) = (-1, -1);
    // SAFETY: room for two descriptors; no name and no settings are asked for; the size outlives the call.
    check_int(unsafe {
        libc::openpty(&raw mut master, &raw mut slave, ptr::null_mut(), ptr::null_mut(), &raw mut size)
    })?;
    // SAFETY: the call just made both for us.
    let (master, slave) = unsafe { (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
    for side in [&master, &slave] {
        // SAFETY: plain numbers.
        check_int(unsafe { libc::fcntl(side.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) })?;
    }
    crate::pty::set_output_mode(slave.as_fd(), terminal.output)?;
    Ok((master, slave))
}

/// A list as exec wants it: pointers to C strings, ended by null.
fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

#[cfg(test)]
mod tests;
