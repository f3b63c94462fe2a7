//! The keeper's own life, and the few steps between it and the command.
//!
//! Runs in a forked process whose other threads are gone: no allocation, no locks, no formatting.

use super::os;
use crate::command::{Command, Rlimit};
use crate::errno::{Errno, check_int};
use std::os::fd::RawFd;
use std::ptr;

/// Numbers in a report: its tag, then what the tag says.
pub(super) const REPORT_NUMBERS: usize = 4;
/// Bytes of an order: the verb and a number.
pub(super) const ORDER_BYTES: usize = 8;
/// Where the keeper holds its socket once everything else is closed; a small number, because `pselect` wants one.
const CONTROL: RawFd = 3;

/// What the keeper reports.
#[derive(Clone, Copy)]
pub(super) enum Tag {
    /// The command was executed.
    Ready = 1,
    /// It was not: stage, errno.
    Failed,
    /// It ended and so did what it started: wait status, cpu in µs, peak in bytes.
    Ended,
}

/// What the keeper can be asked for.
#[derive(Clone, Copy)]
pub(super) enum Verb {
    /// Send this signal to the command's group.
    Signal = 1,
    /// End everything.
    Kill,
}

/// Where a start failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Gather = 1,
    Fork,
    Session,
    Streams,
    Descriptors,
    Limits,
    Workdir,
    Execute,
}

impl Stage {
    const ALL: [Self; 8] = [
        Self::Gather,
        Self::Fork,
        Self::Session,
        Self::Streams,
        Self::Descriptors,
        Self::Limits,
        Self::Workdir,
        Self::Execute,
    ];

    pub(super) fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| *stage as i64 == number)
    }

    /// What was being done and the call that does it.
    pub(super) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Gather => ("become the parent of orphans", "prctl"),
            Self::Fork => ("start the command", "fork"),
            Self::Session => ("make a session", "setsid"),
            Self::Streams => ("place the streams", "dup2"),
            Self::Descriptors => ("close what the command must not have", "fcntl"),
            Self::Limits => ("set the resource limits", "setrlimit"),
            Self::Workdir => ("enter the working directory", "chdir"),
            Self::Execute => ("execute the command", "execve"),
        }
    }
}

/// What the keeper needs, made before the fork because it allocates.
pub(super) struct Ready<'a> {
    pub(super) command: &'a Command,
    pub(super) rlimits: &'a [Rlimit],
    pub(super) argv: &'a [*const libc::c_char],
    pub(super) envp: &'a [*const libc::c_char],
    pub(super) streams: [RawFd; 3],
    pub(super) control: RawFd,
    pub(super) callers_end: RawFd,
}

/// The life of the keeper.
pub(super) fn live(ready: &Ready<'_>) -> ! {
    // SAFETY: plain numbers. The caller's end must not stay open here, or we would never see it close.
    unsafe { libc::close(ready.callers_end) };
    match begin(ready) {
        Ok(main) => watch(main),
        Err((stage, errno)) => {
            report(ready.control, [Tag::Failed as i64, stage as i64, i64::from(errno.0), 0]);
            exit(125)
        }
    }
}

fn exit(code: i32) -> ! {
    // SAFETY: ends this process without running anything of the caller's.
    unsafe { libc::_exit(code) }
}

fn report(control: RawFd, numbers: [i64; REPORT_NUMBERS]) {
    // SAFETY: the numbers are valid for their size. If nobody reads any more, there is nobody to tell.
    unsafe { libc::write(control, numbers.as_ptr().cast(), size_of_val(&numbers)) };
}

/// From the fork to the running command.
fn begin(ready: &Ready<'_>) -> Result<i32, (Stage, Errno)> {
    let at = |stage| move |errno| (stage, errno);
    block(Signals::All);
    // SAFETY: no arguments. Out of the caller's session: Ctrl-C there is polder's to pass on.
    check_int(unsafe { libc::setsid() }).map_err(at(Stage::Session))?;
    os::gather_orphans().map_err(at(Stage::Gather))?;
    let mut ends = [-1; 2];
    // SAFETY: room for two descriptors.
    check_int(unsafe { libc::pipe(ends.as_mut_ptr()) }).map_err(at(Stage::Fork))?;
    // Above the three streams, which the command's own are placed on.
    // SAFETY: plain numbers.
    let answer = check_int(unsafe { libc::fcntl(ends[1], libc::F_DUPFD_CLOEXEC, 3) }).map_err(at(Stage::Fork))?;
    // SAFETY: plain numbers.
    unsafe { libc::close(ends[1]) };
    let answers = ends[0];
    let main = os::fork(|| {
        let (stage, errno) = become_command(ready);
        let numbers = [stage as i32, errno.0];
        // SAFETY: the numbers are valid for their size.
        unsafe { libc::write(answer, numbers.as_ptr().cast(), size_of_val(&numbers)) };
        exit(127)
    })
    .map_err(at(Stage::Fork))?;
    // SAFETY: plain numbers. Ours must be closed, or the answer would never end.
    unsafe { libc::close(answer) };
    let mut numbers = [0i32; 2];
    // The other end closes with the exec; until then, what is written there is why it failed.
    if read_all(answers, numbers.as_mut_ptr().cast(), size_of_val(&numbers)) {
        let stage = Stage::from_number(i64::from(numbers[0])).unwrap_or(Stage::Execute);
        return Err((stage, Errno(numbers[1])));
    }
    // Everything but the socket goes: the command's ends of its pipes must be the only ones.
    // SAFETY: plain numbers.
    check_int(unsafe { libc::dup2(ready.control, CONTROL) }).map_err(at(Stage::Descriptors))?;
    for number in 0..3 {
        // SAFETY: plain numbers.
        unsafe { libc::close(number) };
    }
    os::close_from(CONTROL + 1);
    report(CONTROL, [Tag::Ready as i64, 0, 0, 0]);
    Ok(main)
}

/// Reads exactly this much; says whether there was so much.
fn read_all(from: RawFd, to: *mut u8, size: usize) -> bool {
    let mut got = 0;
    while got < size {
        // SAFETY: the caller gives room for `size` bytes.
        let more = unsafe { libc::read(from, to.add(got).cast(), size - got) };
        match more {
            -1 if Errno::last() == Errno(libc::EINTR) => {}
            -1 | 0 => return false,
            more => got += more as usize,
        }
    }
    true
}

/// From the second fork to exec; returns only with what went wrong.
fn become_command(ready: &Ready<'_>) -> (Stage, Errno) {
    match try_become(ready) {
        Err(failed) => failed,
        Ok(worst) => (Stage::Execute, worst),
    }
}

fn try_become(ready: &Ready<'_>) -> Result<Errno, (Stage, Errno)> {
    let at = |stage| move |errno| (stage, errno);
    let Command { candidates, workdir, terminal, .. } = ready.command;
    os::die_with_keeper();
    // A session of its own: a group to signal, and no terminal of the caller.
    // SAFETY: no arguments.
    check_int(unsafe { libc::setsid() }).map_err(at(Stage::Session))?;
    let mut streams = ready.streams;
    // All above 2 first, so that none is overwritten before it is placed.
    for stream in streams.iter_mut().filter(|stream| **stream <= 2) {
        // SAFETY: plain numbers.
        *stream = check_int(unsafe { libc::fcntl(*stream, libc::F_DUPFD_CLOEXEC, 3) }).map_err(at(Stage::Streams))?;
    }
    for (number, stream) in streams.into_iter().enumerate() {
        // SAFETY: plain numbers.
        check_int(unsafe { libc::dup2(stream, number as RawFd) }).map_err(at(Stage::Streams))?;
    }
    if let Some(terminal) = terminal {
        let first = terminal.streams.first();
        // SAFETY: the request takes a number; 0 does not steal a terminal.
        check_int(unsafe { libc::ioctl(first, libc::TIOCSCTTY as _, 0) }).map_err(at(Stage::Session))?;
    }
    os::close_on_exec_from(3).map_err(at(Stage::Descriptors))?;
    for limit in ready.rlimits {
        lower_limit(limit).map_err(at(Stage::Limits))?;
    }
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::chdir(workdir.as_ptr()) }).map_err(at(Stage::Workdir))?;
    // SAFETY: plain numbers. The Rust runtime ignores SIGPIPE; commands expect it to end them.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    block(Signals::None);
    let mut worst = Errno(libc::ENOENT);
    for candidate in candidates {
        // SAFETY: path, arguments and environment are C strings, the lists end in null, and all outlive the call.
        let answer = unsafe { libc::execve(candidate.as_ptr(), ready.argv.as_ptr(), ready.envp.as_ptr()) };
        let Err(errno) = check_int(answer) else { continue };
        match errno.0 {
            // Keep looking, as shells do, and remember that something was there.
            libc::ENOENT | libc::ENOTDIR => {}
            libc::EACCES => worst = errno,
            _ => return Ok(errno),
        }
    }
    Ok(worst)
}

/// Sets both limits, but never above the hard limit that we came with.
fn lower_limit(limit: &Rlimit) -> Result<(), Errno> {
    let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `old` is valid for writing.
    check_int(unsafe { libc::getrlimit(limit.resource as _, &raw mut old) })?;
    let value = limit.value.min(old.rlim_max);
    let new = libc::rlimit { rlim_cur: value, rlim_max: value };
    // SAFETY: `new` outlives the call.
    check_int(unsafe { libc::setrlimit(limit.resource as _, &raw const new) }).map(drop)
}

/// A set of signals: all of them, or none.
fn signals(all: Signals) -> libc::sigset_t {
    // SAFETY: all-zero is a valid set, which is then filled.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        match all {
            Signals::All => libc::sigfillset(&raw mut set),
            Signals::None => libc::sigemptyset(&raw mut set),
        };
        set
    }
}

enum Signals {
    All,
    None,
}

/// Lets these signals wait, and no others.
fn block(these: Signals) {
    let set = signals(these);
    // SAFETY: the set outlives the call.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut()) };
}

extern "C" fn note(_: i32) {}

/// Reaps until the command ends, until polder asks for the end, or until polder is gone.
fn watch(main: i32) -> ! {
    // A handler that does nothing: what counts is that the wait below is interrupted.
    // SAFETY: all-zero is a valid action, with an empty set and no flags; the handler does nothing.
    let waiting = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(i32) as libc::sighandler_t;
        libc::sigaction(libc::SIGCHLD, &raw const action, ptr::null_mut());
        // During the wait everything is held back but SIGCHLD, which `pselect` lets in atomically.
        let mut waiting = signals(Signals::All);
        libc::sigdelset(&raw mut waiting, libc::SIGCHLD);
        waiting
    };
    loop {
        if let Some(status) = reap(main) {
            finish(main, Some(status));
        }
        // SAFETY: all-zero is an empty set; the number is small, and both sets outlive the call.
        let ready = unsafe {
            let mut set: libc::fd_set = std::mem::zeroed();
            libc::FD_SET(CONTROL, &raw mut set);
            let none = ptr::null_mut();
            libc::pselect(CONTROL + 1, &raw mut set, none, none, ptr::null(), &raw const waiting)
        };
        if ready <= 0 {
            continue;
        }
        let mut order = [0i32; 2];
        if !read_all(CONTROL, order.as_mut_ptr().cast(), ORDER_BYTES) {
            finish(main, None);
        }
        if order[0] == Verb::Signal as i32 {
            // The whole group, as a terminal would.
            // SAFETY: plain numbers.
            unsafe { libc::kill(-main, order[1]) };
        } else {
            finish(main, None);
        }
    }
}

/// Collects orphans that ended; the command's status if it is among those who did.
fn reap(main: i32) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writing.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if pid == main {
            return Some(status);
        }
        if pid <= 0 {
            return None;
        }
    }
}

/// Ends everything that is left, tells the end, and ends. Without a status the command still runs.
fn finish(main: i32, status: Option<i32>) -> ! {
    // SAFETY: plain numbers. First the group at once, then whoever left it.
    unsafe { libc::kill(-main, libc::SIGKILL) };
    let status = status.unwrap_or_else(|| await_end(main));
    os::end_orphans();
    // SAFETY: all-zero is a valid `rusage`, which the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let micros = |time: libc::timeval| (time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64).cast_signed();
    let cpu_micros = micros(usage.ru_utime) + micros(usage.ru_stime);
    report(CONTROL, [Tag::Ended as i64, i64::from(status), cpu_micros, usage.ru_maxrss * os::RSS_UNIT_BYTES]);
    exit(0)
}

/// How long a killed command may take to go: it may wait for a disk, or belong to another user by now.
const END_ROUNDS_MAX: u32 = 1000;
const END_ROUND_MS: i32 = 5;

/// The command's status; that of a killed one if it cannot be waited for any longer.
fn await_end(main: i32) -> i32 {
    let mut status = libc::SIGKILL;
    for _ in 0..END_ROUNDS_MAX {
        // SAFETY: `status` is valid for writing; no descriptors, only the wait.
        unsafe {
            if libc::waitpid(main, &raw mut status, libc::WNOHANG) != 0 {
                break;
            }
            libc::poll(ptr::null_mut(), 0, END_ROUND_MS);
        }
    }
    status
}
