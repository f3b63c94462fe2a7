//! The first process inside: it gives everything up, starts the command, reaps, and ends with it.
//!
//! Runs in a cloned process: no allocation, no locks, no formatting. It is PID 1 of its namespace, so when it exits,
//! for whatever reason, the kernel kills all that is left inside. It is not dumpable, so the command neither sees nor
//! traces it; signals from inside do not reach it because all are blocked.

use super::call::{Errno, check, check_fd, check_int};
use super::child::{Failure, Stage, set_up};
use super::guard::Guard;
use super::recipe::{Recipe, Swept};
use super::wire::{self, FLAG_DISK_FULL, Record, Tag};
use super::{creds, seccomp};
use crate::{Command, Terminal};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

/// What the child needs beside the recipe, made before the clone because it allocates.
pub(crate) struct Prepared<'a> {
    pub(crate) recipe: &'a Recipe,
    /// `argv` and `envp` as the kernel wants them, ended by null.
    pub(crate) argv: &'a [*const libc::c_char],
    pub(crate) envp: &'a [*const libc::c_char],
    /// A stack for the process between clone and exec.
    pub(crate) stack: &'a mut [u8],
}

/// The life of the shim.
pub(crate) fn live(mut prepared: Prepared<'_>, control: OwnedFd) -> ! {
    let answer = begin(&mut prepared, control.as_fd());
    let (main, mut guard) = match answer {
        Ok(begun) => begun,
        Err(record) => {
            // If this fails too, the caller sees the end of the socket and reports that.
            let _ = wire::send(control.as_fd(), &record, &[]);
            exit(125)
        }
    };
    let sweep = Sweep { paths: &prepared.recipe.swept };
    watch(main, control.as_fd(), &mut guard, &sweep)
}

/// Files that must not be there when the run has ended, whoever ended it.
struct Sweep<'a> {
    paths: &'a [Swept],
}

impl Sweep<'_> {
    /// Ends everyone else, so that nothing can be made again, and removes what must not stay; then ends.
    fn finish(&self, control: BorrowedFd<'_>, last: Option<Record>) -> ! {
        if !self.paths.is_empty() {
            // SAFETY: plain numbers; reaps until nobody is left.
            unsafe {
                libc::kill(-1, libc::SIGKILL);
                while libc::waitpid(-1, ptr::null_mut(), 0) > 0 {}
            }
        }
        // The caller does this too, on the host's side; this is for a caller that is gone.
        for Swept { path, aside, only_with } in self.paths {
            // SAFETY: the paths outlive the calls.
            unsafe {
                if only_with.iter().all(|other| libc::access(other.as_ptr(), libc::F_OK) == 0) {
                    libc::rename(path.as_ptr(), aside.as_ptr());
                }
            }
        }
        let Some(record) = last else { exit(125) };
        // If the caller is gone, there is nobody to tell.
        let _ = wire::send(control, &record, &[]);
        exit(0)
    }
}

fn exit(code: i32) -> ! {
    // SAFETY: ends this process without running anything of the caller's.
    unsafe { libc::_exit(code) }
}

fn failed(failure: Failure) -> Record {
    let Failure { stage, index, errno } = failure;
    Record { a: stage as i32, b: index as i32, c: errno.0, ..Record::new(Tag::Failed) }
}

/// From the clone to the running command; the record is what to tell the caller when it does not come to that.
fn begin<'a>(prepared: &mut Prepared<'a>, control: BorrowedFd<'_>) -> Result<(i32, Guard<'a>), Record> {
    block_all_signals();
    // Out of the caller's session: the guard opens files for the command, and `/dev/tty` must not be the caller's.
    // SAFETY: no arguments; a first process of a pid namespace leads no group yet, so this cannot fail.
    unsafe { libc::setsid() };
    let mask = set_up(prepared.recipe, control).map_err(failed)?;
    let Command { stdio, terminal, .. } = &prepared.recipe.command;
    let stage = |stage| move |errno| failed(Failure { stage, index: 0, errno });
    match terminal {
        None => place_stdio([stdio[0].as_raw_fd(), stdio[1].as_raw_fd(), stdio[2].as_raw_fd()]),
        Some(size) => open_terminal(*size, control),
    }
    .map_err(stage(Stage::Terminal))?;
    // Whatever else the caller had open is not ours to keep, and what we keep is not the command's.
    close_all_but(control.as_raw_fd()).map_err(stage(Stage::Descriptors))?;

    let guard = Guard::new(&prepared.recipe.reserved).map_err(stage(Stage::Seccomp))?;
    let start = Start {
        recipe: prepared.recipe,
        argv: prepared.argv,
        envp: prepared.envp,
        mask,
        guarded: guard.is_needed(),
        listener: AtomicI32::new(-1),
        failed_stage: AtomicI32::new(0),
        failed_errno: AtomicI32::new(0),
    };
    let main = start_command(&start, prepared.stack).map_err(stage(Stage::Start))?;
    let errno = Errno(start.failed_errno.load(Ordering::Relaxed));
    match Stage::from_number(start.failed_stage.load(Ordering::Relaxed)) {
        None => {}
        Some(Stage::Start) => return Err(Record { c: errno.0, ..Record::new(Tag::NotStarted) }),
        Some(other) => return Err(failed(Failure { stage: other, index: 0, errno })),
    }
    let listener = start.listener.load(Ordering::Relaxed);
    // SAFETY: the started process shared our descriptor table when it made the listener, so the number is ours.
    let listener = (listener >= 0).then(|| unsafe { OwnedFd::from_raw_fd(listener) });
    let guard = guard.with_listener(listener);
    // The command's end of its pipes must be the only one, or nobody sees it close them.
    // SAFETY: plain numbers.
    unsafe { libc::syscall(libc::SYS_close_range, 0, 2, 0) };
    // From here on the lifeline decides: the caller's thread may end before the run does.
    creds::die_with_parent(0).map_err(stage(Stage::Lifeline))?;
    wire::send(control, &Record::new(Tag::Ready), &[]).map_err(stage(Stage::Lifeline))?;
    Ok((main, guard))
}

fn block_all_signals() {
    // SAFETY: all-zero is a valid set, which is then filled.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, ptr::null_mut());
    }
}

/// The command's three streams, at their numbers and without close-on-exec.
fn place_stdio(streams: [RawFd; 3]) -> Result<(), Errno> {
    for (number, stream) in streams.into_iter().enumerate() {
        // The caller made them above 2, so that none is overwritten before it is placed.
        // SAFETY: plain numbers.
        check_int(unsafe { libc::dup2(stream, number as RawFd) })?;
    }
    Ok(())
}

/// A terminal from the sandbox's own `/dev/pts`, so that it has a name inside; the caller gets its other side.
fn open_terminal(size: Terminal, control: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: a static path.
    let master = check_fd(i64::from(unsafe { libc::open(c"/dev/pts/ptmx".as_ptr(), flags) }))?;
    let unlock: libc::c_int = 0;
    // SAFETY: the request reads one int.
    check_int(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK as _, &raw const unlock) })?;
    // SAFETY: the request takes open flags and gives a descriptor.
    let slave = check_fd(i64::from(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER as _, flags) }))?;
    let size = libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the request reads one `winsize`.
    check_int(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSWINSZ as _, &raw const size) })?;
    place_stdio([slave.as_raw_fd(); 3])?;
    wire::send(control, &Record::new(Tag::Master), &[master.as_raw_fd()])
}

fn close_all_but(kept: RawFd) -> Result<(), Errno> {
    let close = |first: RawFd, last: libc::c_uint, flags: libc::c_uint| {
        // SAFETY: plain numbers.
        check(unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) }).map(drop)
    };
    if kept > 3 {
        close(3, (kept - 1) as libc::c_uint, 0)?;
    }
    close(kept.max(2) + 1, libc::c_uint::MAX, 0)?;
    close(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
}

/// What the process between clone and exec reads, and where it leaves its answer.
struct Start<'a> {
    recipe: &'a Recipe,
    argv: &'a [*const libc::c_char],
    envp: &'a [*const libc::c_char],
    mask: libc::mode_t,
    guarded: bool,
    listener: AtomicI32,
    failed_stage: AtomicI32,
    failed_errno: AtomicI32,
}

/// Starts the command without copying our memory; returns when it has been executed or has failed.
fn start_command(start: &Start<'_>, stack: &mut [u8]) -> Result<i32, Errno> {
    // CLONE_FILES, so that the listener the child makes is ours too; exec gives the child a table of its own.
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::SIGCHLD;
    // SAFETY: one past the end of the stack is where a stack that grows down begins; `start` outlives the child's use
    // of our memory, because CLONE_VFORK holds us until it executes or exits.
    unsafe {
        let top = stack.as_mut_ptr().add(stack.len() & !15);
        check_int(libc::clone(execute, top.cast(), flags, (&raw const *start).cast_mut().cast()))
    }
}

/// Between clone and exec of the command, on the shim's memory.
extern "C" fn execute(argument: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `start_command` passes a `Start` that outlives this process's use of it.
    let start = unsafe { &*argument.cast::<Start<'_>>() };
    let Err((stage, errno)) = try_execute(start);
    start.failed_errno.store(errno.0, Ordering::Relaxed);
    start.failed_stage.store(stage as i32, Ordering::Relaxed);
    exit(127)
}

fn try_execute(start: &Start<'_>) -> Result<std::convert::Infallible, (Stage, Errno)> {
    let Command { candidates, workdir, terminal, .. } = &start.recipe.command;
    // A session of its own: no terminal of the caller can be made the controlling one, and a group to signal.
    // SAFETY: no arguments.
    check_int(unsafe { libc::setsid() }).map_err(|errno| (Stage::Terminal, errno))?;
    if terminal.is_some() {
        // SAFETY: the request takes a number; 0 does not steal a terminal.
        check_int(unsafe { libc::ioctl(0, libc::TIOCSCTTY as _, 0) }).map_err(|errno| (Stage::Terminal, errno))?;
    }
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::chdir(workdir.as_ptr()) }).map_err(|errno| (Stage::Workdir, errno))?;
    // SAFETY: plain numbers and static sets. The Rust runtime ignores SIGPIPE; commands expect it to end them.
    unsafe {
        libc::umask(start.mask);
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
    // The filter comes last: everything above needs calls that it may not allow.
    if let Some(filter) = &start.recipe.filter {
        if start.guarded {
            let listener = seccomp::install_with_listener(filter).map_err(|errno| (Stage::Seccomp, errno))?;
            start.listener.store(std::os::fd::IntoRawFd::into_raw_fd(listener), Ordering::Relaxed);
        } else {
            seccomp::install(filter).map_err(|errno| (Stage::Seccomp, errno))?;
        }
    }
    let mut worst = Errno(libc::ENOENT);
    for candidate in candidates {
        // SAFETY: path, arguments and environment are C strings, the lists end in null, and all outlive the call.
        let answer = unsafe { libc::execve(candidate.as_ptr(), start.argv.as_ptr(), start.envp.as_ptr()) };
        let Err(errno) = check_int(answer) else { continue };
        match errno.0 {
            // Keep looking, as shells do, and remember that something was there.
            libc::ENOENT | libc::ENOTDIR => {}
            libc::EACCES => worst = errno,
            _ => return Err((Stage::Start, errno)),
        }
    }
    Err((Stage::Start, worst))
}

/// Reaps until the command ends, or until the caller is gone.
fn watch(main: i32, control: BorrowedFd<'_>, guard: &mut Guard<'_>, sweep: &Sweep<'_>) -> ! {
    // SAFETY: a set of one signal, valid for the call.
    let children = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        check_fd(i64::from(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)))
    };
    let Ok(children) = children else { sweep.finish(control, None) };
    loop {
        // A child may have ended before the descriptor existed, so look before waiting.
        reap(main, control, sweep);
        let watched = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut ready = [watched(control.as_raw_fd()), watched(children.as_raw_fd()), watched(guard.listener())];
        // SAFETY: the list is valid for its length; a negative descriptor is ignored by the kernel.
        if check_int(unsafe { libc::poll(ready.as_mut_ptr(), ready.len() as _, -1) }).is_err() {
            sweep.finish(control, None);
        }
        if ready[1].revents != 0 {
            let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
            // SAFETY: the buffer is valid for its length. What it says does not matter: `reap` asks for all.
            unsafe { libc::read(children.as_raw_fd(), info.as_mut_ptr().cast(), info.len()) };
        }
        if ready[2].revents & libc::POLLIN != 0 {
            guard.answer(control);
        } else if ready[2].revents != 0 {
            // Nobody is left under the filter.
            guard.close();
        }
        if ready[0].revents != 0 {
            match wire::receive(control, &mut []) {
                Ok(Some(record)) if record.tag == Tag::Signal as u32 => {
                    // The whole group, as a terminal would.
                    // SAFETY: plain numbers.
                    unsafe { libc::kill(-main, record.a) };
                }
                _ => sweep.finish(control, None),
            }
        }
    }
}

/// Collects everyone who has ended; does not return if the command is among them.
fn reap(main: i32, control: BorrowedFd<'_>, sweep: &Sweep<'_>) {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writing.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if pid <= 0 {
            return;
        }
        if pid == main {
            sweep.finish(control, Some(ended(status)));
        }
    }
}

fn ended(status: i32) -> Record {
    // SAFETY: all-zero is a valid `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for writing.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    // SAFETY: all-zero is a valid `statfs`.
    let mut disk: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: a static path, and `disk` is valid for writing.
    let known = check(i64::from(unsafe { libc::statfs(c"/".as_ptr(), &raw mut disk) })).is_ok();
    let full = known && (disk.f_bfree == 0 || disk.f_ffree == 0);
    Record {
        a: status,
        d: micros(usage.ru_utime) + micros(usage.ru_stime),
        e: usage.ru_maxrss as u64,
        f: if full { FLAG_DISK_FULL } else { 0 },
        ..Record::new(Tag::Ended)
    }
}
