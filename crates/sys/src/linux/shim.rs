//! The first process inside: it gives everything up, starts the command, reaps, and ends with it.
//!
//! Runs in a cloned process: no allocation, no locks, no formatting. It is PID 1 of its namespace, so when it exits,
//! for whatever reason, the kernel kills all that is left inside. It is not dumpable, so the command neither sees nor
//! traces it; signals from inside do not reach it because all are blocked.

use super::aside::{AsideName, AsideTask, TreeState, open_tree};
use super::call::{Errno, check, check_fd, check_int, open_at};
use super::child::{
    Failure, Handed, Held, Stage, at, build, finish, give_up, limit_descriptors, make, number_of, prepare,
};
use super::image::{CommandImage, Image, InsideImage, List, SweptImage};
use super::listener::Listener;
use super::mutate::{Layer, off};
use super::recipe::{Filtered, NetNamespace, Step, Swept};
use super::syscalls::{self, Observe};
use super::wire::{self, DESCRIPTORS_MAX, FLAG_DISK_FULL, Record, Tag};
use super::{creds, seccomp};
use crate::pty::set_output_mode;
use crate::{Terminal, TerminalSize};
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

/// A place of the private file systems that nothing can be shown at; all of them share one size.
const SCRATCH: &CStr = c"/dev/shm";

/// Room for the few frames between the last clone and exec.
const STACK_BYTES: usize = 64 * 1024;

/// The life of the shim. What does not need the recipe is done at once; the rest when the go-ahead brings it.
pub(crate) fn live(net: NetNamespace, control: OwnedFd) -> ! {
    let answer = begin(net, control.as_fd());
    go_on(answer, control)
}

/// The life of a shim that another program has started on the ground that it built.
pub(crate) fn live_on_built(control: OwnedFd) -> ! {
    block_all_signals();
    // SAFETY: no arguments. Fails where the program has made us the leader of a session, which is as good.
    unsafe { libc::setsid() };
    // The program that built the ground must not leave us behind, and what the command leaves behind is ours.
    let lifeline = || {
        creds::die_with_parent(libc::SIGKILL)?;
        creds::adopt_orphans()
    };
    let answer = at(Stage::Lifeline, lifeline()).map_err(failed).and_then(|()| settle(None, control.as_fd())).and_then(
        |settled| {
            at(Stage::Privileges, creds::empty_bounding_set(&[])).map_err(failed)?;
            start(settled, Maker::Program, control.as_fd())
        },
    );
    go_on(answer, control)
}

/// Who has made this process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Maker {
    /// The caller itself: it holds a handle on us, and a thread of it may end before the run does.
    Caller,
    /// A program between the caller and us: we end with it, and the caller needs a handle on us.
    Program,
}

fn go_on(answer: Result<Begun<'_>, Record>, control: OwnedFd) -> ! {
    let (main, mut listener, sweep) = match answer {
        Ok(begun) => begun,
        Err(record) => {
            // If this fails too, the caller sees the end of the socket and reports that.
            let _ = wire::send(control.as_fd(), &record, &[]);
            exit(125)
        }
    };
    watch(main, control.as_fd(), &mut listener, &sweep)
}

/// Files that must not be there when the run has ended, whoever ended it.
struct Sweep<'a> {
    paths: List<'a, SweptImage<'a>>,
    /// Where the caller has written down these names for a run that ends without it.
    record: Option<RawFd>,
}

impl Sweep<'_> {
    /// Ends everyone else, so that nothing can be made again, and removes what must not stay; then ends.
    fn finish(&self, control: BorrowedFd<'_>, last: Option<Record>) -> ! {
        // Orphans are given to us, so without a child we are alone. Mostly we are, and the kernel need not ask every
        // process of the machine whether it is one of ours.
        // SAFETY: plain numbers; reaps until nobody is left. Whoever hears of the end may rely on that.
        unsafe {
            let child = check_int(libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG | libc::__WALL));
            // In the host's pid namespace, -1 would mean every process of this uid.
            let skip = off(Layer::ShimKill) || off(Layer::NsPid);
            if child != Err(Errno(libc::ECHILD)) && !skip && libc::kill(-1, libc::SIGKILL) == 0 {
                while libc::waitpid(-1, ptr::null_mut(), libc::__WALL) > 0 {}
            }
        }
        // A caller that hears of the end does the rest, on the host's side, unless it is killed before it can. Until it
        // is gone there is no hurry: our own end is the work of taking the namespaces apart, which it does not wait for.
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        let copies = open_at(Step::GIT_COPIES_AT, flags, 0);
        let copies = copies.as_ref().map_or([-1], |copies| [copies.as_raw_fd()]);
        let copies = if copies == [-1] { &[][..] } else { &copies[..] };
        if last.is_some_and(|record| wire::send(control, &record, copies).is_ok())
            && wire::hears_before_end(control, Tag::Tidy)
        {
            exit(0)
        }
        let mut all = true;
        for Swept { tree, parent, name, suffix, only_with } in self.paths.iter().filter(|_| !off(Layer::SweepShim)) {
            let task = AsideTask { parent, name, suffix, state: TreeState::AtRest };
            let done =
                open_tree(tree).and_then(|tree| task.carry_out(tree.as_fd(), only_with.iter(), &mut AsideName::new()));
            all &= matches!(done, Ok(_) | Err(Errno(libc::ENOENT)));
        }
        if let Some(record) = self.record.filter(|_| all) {
            // The next polder process in this tree reads the record: one without names asks for nothing. polder left
            // the file offset before the names; what lies ahead of it says where the command could write.
            // If this fails (an offset of -1 does), that process looks once more.
            // SAFETY: plain numbers; the descriptor stays open until we end.
            unsafe { libc::ftruncate(record, libc::lseek(record, 0, libc::SEEK_CUR)) };
        }
        exit(125)
    }
}

pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: ends this process without running anything of the caller's.
    unsafe { libc::_exit(code) }
}

fn failed(failure: Failure) -> Record {
    let Failure { stage, index, errno } = failure;
    Record { a: stage as i32, b: index as i32, c: errno.0, ..Record::new(Tag::Failed) }
}

/// A started command, whoever answers its notified calls, and what is set aside when it has ended.
type Begun<'a> = (i32, Listener<'a>, Sweep<'a>);

/// From the clone to the running command; the record is what to tell the caller when it does not come to that.
fn begin(net: NetNamespace, control: BorrowedFd<'_>) -> Result<Begun<'static>, Record> {
    block_all_signals();
    // Out of the caller's session: its terminal must not be the controlling one of the shim, nor of what it starts.
    if !off(Layer::ShimSession) {
        // SAFETY: no arguments; a first process of a pid namespace leads no group yet, so this cannot fail.
        unsafe { libc::setsid() };
    }
    // For the time of the set-up, a parent that dies takes us along, even if a mount hangs.
    at(Stage::Lifeline, creds::die_with_parent(libc::SIGKILL)).map_err(failed)?;
    // What the caller had open belongs to its other runs, too: their pipes and locks would not end as long as we wait for
    // a workspace that one of them has. What we need is handed over.
    if !off(Layer::DescriptorsShim) {
        at(Stage::Descriptors, close_all_but([control.as_raw_fd(); 3])).map_err(failed)?;
    }
    let proc = prepare(net).map_err(failed)?;
    let settled = settle(Some((net, proc)), control)?;
    start(settled, Maker::Caller, control)
}

/// What is there when the ground is built.
struct Settled<'a> {
    inside: InsideImage<'a>,
    streams: [Option<OwnedFd>; 3],
    /// Held open until we end, and with us everybody inside: what the caller wants kept, and what the ground needs held.
    kept: [Option<OwnedFd>; 2],
    mask: libc::mode_t,
}

/// The recipe comes, and the ground is built. What was handed over is used up or closed before the command starts, but
/// for what is to be kept.
///
/// `made` is what was made before, if it was us who made the namespaces.
fn settle(made: Option<(NetNamespace, OwnedFd)>, control: BorrowedFd<'_>) -> Result<Settled<'static>, Record> {
    let mut descriptors = [const { None::<OwnedFd> }; DESCRIPTORS_MAX];
    let go = wait_for_go(control, &mut descriptors).map_err(failed)?;
    let malformed = || failed(Failure { stage: Stage::Recipe, index: 0, errno: Errno(libc::EBADMSG) });
    let [image, rest @ ..] = &mut descriptors;
    let image = image.take().ok_or_else(malformed)?;
    let image = at(Stage::Recipe, map(image.as_fd(), go.d as usize)).map_err(failed)?;
    let Image { ground, finish: end, inside } = Image::decode(image).ok_or_else(malformed)?;
    let (streams, rest) = rest.split_at_mut(3);
    let (kept, rest) = rest.split_at_mut(usize::from(go.b == 1));
    let kept = kept.first_mut().and_then(Option::take);
    if kept.is_none() && go.b != 0 {
        return Err(malformed());
    }
    let (doors, trees) = rest.split_at_mut_checked(go.a as usize).ok_or_else(malformed)?;

    // SAFETY: a plain number. From here on modes are given exactly.
    let mask = unsafe { libc::umask(0) };
    let held = match (&ground, &end, made) {
        (Some(ground), None, Some((net, proc))) if ground.net == net => {
            build(ground, Handed { doors, trees, proc }, control).map_err(failed)?
        }
        (None, end, None) => {
            // In the caller's own pid namespace, ending everyone else would be the end of the host.
            at(Stage::Ground, apart_from(go.e)).map_err(failed)?;
            end.as_ref().map_or(Ok(()), finish).map_err(failed)?;
            if end.is_none() {
                at(Stage::UserNamespaces, bound_own(go.f)).map_err(failed)?;
            }
            make(inside.made).map_err(failed)?;
            Held { kept: None, mark: None }
        }
        _ => return Err(malformed()),
    };
    let kept = [kept.or(held.kept), held.mark];
    Ok(Settled { inside, streams: [0, 1, 2].map(|number| streams[number].take()), kept, mask })
}

/// What every Linux engine's shim does on the ground it finds: gives everything up and starts the command.
fn start<'a>(settled: Settled<'a>, maker: Maker, control: BorrowedFd<'_>) -> Result<Begun<'a>, Record> {
    let Settled { inside, streams, kept: [kept, held], mask } = settled;
    give_up(&inside).map_err(failed)?;
    let stage = |stage| move |errno| failed(Failure { stage, index: 0, errno });
    let kept = [above_streams(kept), above_streams(held)];
    place_stdio(streams)
        .and_then(|()| inside.command.terminal.map_or(Ok(()), |terminal| open_terminal(terminal, control)))
        .map_err(stage(Stage::Terminal))?;
    // Whatever else the caller had open is not ours to keep, and what we keep is not the command's.
    // Nobody closes what is kept: it ends with us.
    let number = |kept: Result<Option<OwnedFd>, Errno>| {
        kept.map(|kept| kept.map_or(control.as_raw_fd(), IntoRawFd::into_raw_fd)).map_err(stage(Stage::Descriptors))
    };
    let [kept, held] = kept.map(number);
    let (kept, held) = (kept?, held?);
    if !off(Layer::DescriptorsCommand) {
        close_all_but([control.as_raw_fd(), kept, held]).map_err(stage(Stage::Descriptors))?;
    }

    let listener = Listener::new(&inside);
    let (argv_len, env_len) = (inside.command.argv.len() + 1, inside.command.env.len() + 1);
    let memory = anonymous(STACK_BYTES + (argv_len + env_len) * size_of::<Pointer>()).map_err(stage(Stage::Start))?;
    let (stack, lists) = memory.split_at_mut(STACK_BYTES);
    // SAFETY: pages are aligned for pointers, and all-zero bytes are null pointers.
    let (_, lists, _) = unsafe { lists.align_to_mut::<Pointer>() };
    let (argv, envp) = lists.split_at_mut(argv_len);
    point(argv, inside.command.argv);
    point(envp, inside.command.env);
    let start = Start {
        inside: &inside,
        argv,
        envp,
        mask,
        heard: listener.is_needed(),
        socket: AtomicI32::new(-1),
        failed_stage: AtomicI32::new(0),
        failed_errno: AtomicI32::new(0),
    };
    let main = start_command(&start, stack).map_err(stage(Stage::Start))?;
    let errno = Errno(start.failed_errno.load(Ordering::Relaxed));
    match Stage::from_number(start.failed_stage.load(Ordering::Relaxed)) {
        None => {}
        Some(Stage::Start) => return Err(Record { c: errno.0, ..Record::new(Tag::NotStarted) }),
        Some(other) => return Err(failed(Failure { stage: other, index: 0, errno })),
    }
    let socket = start.socket.load(Ordering::Relaxed);
    // SAFETY: the started process shared our descriptor table when it made the listener, so the number is ours.
    let socket = (socket >= 0).then(|| unsafe { OwnedFd::from_raw_fd(socket) });
    let listener = listener.with_socket(socket);
    // The command's end of its pipes must be the only one, or nobody sees it close them.
    // SAFETY: plain numbers.
    unsafe { libc::syscall(libc::SYS_close_range, 0, 2, 0) };
    // From here on the lifeline decides: the caller's thread may end before the run does.
    // With it the caller wakes at the same time as we do, not after us.
    // SAFETY: plain numbers; the result is a new descriptor, and the child is not yet waited for.
    let ending = check_fd(unsafe { libc::syscall(libc::SYS_pidfd_open, main, 0) }).map_err(stage(Stage::Lifeline))?;
    let ending = ending.as_raw_fd();
    match maker {
        Maker::Caller => {
            creds::die_with_parent(0).and_then(|()| wire::send(control, &Record::new(Tag::Ready), &[ending]))
        }
        Maker::Program => {
            own_handle().and_then(|own| wire::send(control, &Record::new(Tag::Ready), &[ending, own.as_raw_fd()]))
        }
    }
    .map_err(stage(Stage::Lifeline))?;
    let paths = inside.swept;
    // Names are set aside in a real tree only, and only a workspace that is none has a lock to keep.
    let record = (paths.len() > 0 && kept != control.as_raw_fd()).then_some(kept);
    Ok((main, listener, Sweep { paths, record }))
}

pub(crate) fn wait_for_go(control: BorrowedFd<'_>, descriptors: &mut [Option<OwnedFd>]) -> Result<Record, Failure> {
    match at(Stage::Lifeline, wire::receive_soon(control, descriptors))? {
        Some(record) if record.tag == Tag::Go as u32 => Ok(record),
        _ => Err(Failure { stage: Stage::Lifeline, index: 0, errno: Errno(libc::EPIPE) }),
    }
}

/// A descriptor that refers to this process, by which the caller can end it and see that it is gone.
fn own_handle() -> Result<OwnedFd, Errno> {
    // SAFETY: plain numbers.
    check_fd(unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) })
}

/// Refuses to be in the pid namespace of the caller.
fn apart_from(callers_namespace: u64) -> Result<(), Errno> {
    match pid_namespace()? {
        own if own == callers_namespace || callers_namespace == 0 => Err(Errno(libc::EPERM)),
        _ => Ok(()),
    }
}

/// Bounds the user namespace that we are in, if it is not the caller's and the program left us the right to.
fn bound_own(callers_namespace: u64) -> Result<(), Errno> {
    if user_namespace()? == callers_namespace {
        return Ok(());
    }
    match creds::visible_processes().and_then(|proc| creds::bound_namespace(proc.as_fd())) {
        // The filter forbids new namespaces all the same.
        Err(Errno(libc::EACCES | libc::EPERM | libc::EROFS)) => Ok(()),
        other => other,
    }
}

/// The number of the pid namespace that we are in.
pub(crate) fn pid_namespace() -> Result<u64, Errno> {
    number_of(c"/proc/self/ns/pid")
}

/// The number of the user namespace that we are in.
pub(crate) fn user_namespace() -> Result<u64, Errno> {
    number_of(c"/proc/self/ns/user")
}

/// The content of a file, for as long as this process lives.
fn map(file: BorrowedFd<'_>, len: usize) -> Result<&'static [u8], Errno> {
    let flags = libc::MAP_PRIVATE | libc::MAP_POPULATE;
    // SAFETY: a new mapping that nobody unmaps; the caller has written the file and does not touch it any more.
    unsafe {
        let at = libc::mmap(ptr::null_mut(), len, libc::PROT_READ, flags, file.as_raw_fd(), 0);
        if at == libc::MAP_FAILED { Err(Errno::last()) } else { Ok(std::slice::from_raw_parts(at.cast(), len)) }
    }
}

/// Zeroed memory, for as long as this process lives.
fn anonymous(len: usize) -> Result<&'static mut [u8], Errno> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping that nobody else has and nobody unmaps.
    unsafe {
        let at = libc::mmap(ptr::null_mut(), len, access, kind, -1, 0);
        if at == libc::MAP_FAILED { Err(Errno::last()) } else { Ok(std::slice::from_raw_parts_mut(at.cast(), len)) }
    }
}

/// A string as exec wants it.
type Pointer = *const libc::c_char;

/// Fills a list as exec wants it: the last place stays null.
fn point<'a>(places: &mut [Pointer], strings: List<'a, &'a CStr>) {
    for (place, string) in places.iter_mut().zip(strings.iter()) {
        *place = string.as_ptr();
    }
}

pub(crate) fn block_all_signals() {
    if off(Layer::ShimSignals) {
        return;
    }
    // SAFETY: all-zero is a valid set, which is then filled.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, ptr::null_mut());
    }
}

/// The command's three streams, at their numbers and without close-on-exec.
fn place_stdio(mut streams: [Option<OwnedFd>; 3]) -> Result<(), Errno> {
    // All above 2 first, so that none is overwritten before it is placed.
    let streams =
        [above_streams(streams[0].take())?, above_streams(streams[1].take())?, above_streams(streams[2].take())?];
    for (number, stream) in streams.iter().enumerate() {
        let stream = stream.as_ref().ok_or(Errno(libc::EBADF))?;
        // SAFETY: plain numbers.
        check_int(unsafe { libc::dup2(stream.as_raw_fd(), number as RawFd) })?;
    }
    Ok(())
}

/// The same descriptor with a number that no stream has: a caller may have closed its own, and what is handed over gets the
/// lowest numbers that are free.
fn above_streams(descriptor: Option<OwnedFd>) -> Result<Option<OwnedFd>, Errno> {
    match descriptor {
        Some(low) if low.as_raw_fd() <= 2 => {
            // SAFETY: plain numbers; the result is a new descriptor.
            check_fd(i64::from(unsafe { libc::fcntl(low.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) })).map(Some)
        }
        high => Ok(high),
    }
}

/// A terminal from the sandbox's own `/dev/pts`, so that it has a name inside; the caller gets its other side.
fn open_terminal(terminal: Terminal, control: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: a static path.
    let master = check_fd(i64::from(unsafe { libc::open(c"/dev/pts/ptmx".as_ptr(), flags) }))?;
    let unlock: libc::c_int = 0;
    // SAFETY: the request reads one int.
    check_int(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK as _, &raw const unlock) })?;
    // SAFETY: the request takes open flags and gives a descriptor.
    let slave = check_fd(i64::from(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER as _, flags) }))?;
    let TerminalSize { rows, columns } = terminal.size;
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the request reads one `winsize`.
    check_int(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSWINSZ as _, &raw const size) })?;
    set_output_mode(slave.as_fd(), terminal.output)?;
    for number in (0..3).filter(|number| terminal.streams.contains(*number)) {
        // SAFETY: plain numbers.
        check_int(unsafe { libc::dup2(slave.as_raw_fd(), number as RawFd) })?;
    }
    wire::send(control, &Record::new(Tag::Master), &[master.as_raw_fd()])
}

pub(crate) fn close_all_but(mut kept: [RawFd; 3]) -> Result<(), Errno> {
    let close = |first: RawFd, last: libc::c_uint, flags: libc::c_uint| {
        // SAFETY: plain numbers.
        check(unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) }).map(drop)
    };
    kept.sort_unstable();
    let mut first = 3;
    for stays in kept {
        if stays > first {
            close(first, (stays - 1) as libc::c_uint, 0)?;
        }
        first = first.max(stays + 1);
    }
    close(first, libc::c_uint::MAX, 0)?;
    close(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
}

/// What the process between clone and exec reads, and where it leaves its answer.
struct Start<'a> {
    inside: &'a InsideImage<'a>,
    argv: &'a [Pointer],
    envp: &'a [Pointer],
    mask: libc::mode_t,
    heard: bool,
    socket: AtomicI32,
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
    let CommandImage { candidates, workdir, terminal, .. } = start.inside.command;
    // A session of its own: no terminal of the caller can be made the controlling one, and a group to signal.
    if !off(Layer::CommandSession) {
        // SAFETY: no arguments.
        check_int(unsafe { libc::setsid() }).map_err(|errno| (Stage::Terminal, errno))?;
    }
    if let Some(terminal) = terminal {
        let first = terminal.streams.first();
        // SAFETY: the request takes a number; 0 does not steal a terminal.
        check_int(unsafe { libc::ioctl(first, libc::TIOCSCTTY as _, 0) }).map_err(|errno| (Stage::Terminal, errno))?;
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
    limit_descriptors(start.inside).map_err(|errno| (Stage::Limits, errno))?;
    // The filter comes last: everything above needs calls that it may not allow.
    if start.inside.filter == Filtered::Yes && !off(Layer::Filter) {
        let observe = start.inside.observe.map_or(Observe::Off, |observe| observe.mode);
        let filter = syscalls::program(observe);
        if start.heard {
            let socket = seccomp::install_with_listener(filter).map_err(|errno| (Stage::Seccomp, errno))?;
            start.socket.store(IntoRawFd::into_raw_fd(socket), Ordering::Relaxed);
        } else {
            seccomp::install(filter).map_err(|errno| (Stage::Seccomp, errno))?;
        }
    }
    let mut worst = Errno(libc::ENOENT);
    for candidate in candidates.iter() {
        // SAFETY: path, arguments and environment are C strings, the lists end in null, and all outlive the call.
        let answer = unsafe {
            let (path, argv, envp) = (candidate.as_ptr(), start.argv.as_ptr(), start.envp.as_ptr());
            libc::syscall(libc::SYS_execve, path, argv, envp, syscalls::STARTING)
        };
        let Err(errno) = check(answer) else { continue };
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
fn watch(main: i32, control: BorrowedFd<'_>, listener: &mut Listener<'_>, sweep: &Sweep<'_>) -> ! {
    // SAFETY: a set of one signal, valid for the call.
    let children = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        check_fd(i64::from(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)))
    };
    let Ok(children) = children else { sweep.finish(control, None) };
    // A child may have ended before the descriptor existed, so look before waiting.
    reap(main, control, listener, sweep);
    loop {
        let watched = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut ready = [watched(control.as_raw_fd()), watched(children.as_raw_fd()), watched(listener.socket())];
        // SAFETY: the list is valid for its length; a negative descriptor is ignored by the kernel.
        if check_int(unsafe { libc::poll(ready.as_mut_ptr(), ready.len() as _, -1) }).is_err() {
            sweep.finish(control, None);
        }
        if ready[1].revents != 0 {
            let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
            // SAFETY: the buffer is valid for its length. What it says does not matter: `reap` asks for all.
            unsafe { libc::read(children.as_raw_fd(), info.as_mut_ptr().cast(), info.len()) };
            reap(main, control, listener, sweep);
        }
        if ready[2].revents & libc::POLLIN != 0 {
            listener.answer(control);
        } else if ready[2].revents != 0 {
            listener.end();
        }
        if ready[0].revents != 0 {
            match wire::receive(control, &mut []) {
                Ok(Some(record)) if record.tag == Tag::Signal as u32 => {
                    // The whole group, as a terminal would.
                    // SAFETY: plain numbers.
                    unsafe { libc::kill(-main, record.a) };
                }
                _ if off(Layer::ShimLifeline) => {}
                _ => sweep.finish(control, None),
            }
        }
    }
}

/// Collects everyone who has ended; does not return if the command is among them.
fn reap(main: i32, control: BorrowedFd<'_>, listener: &mut Listener<'_>, sweep: &Sweep<'_>) {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writing.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if pid <= 0 {
            return;
        }
        if pid == main {
            listener.look_again();
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
    let known = check(i64::from(unsafe { libc::statfs(SCRATCH.as_ptr(), &raw mut disk) })).is_ok();
    let full = known && (disk.f_bfree == 0 || disk.f_ffree == 0);
    Record {
        a: status,
        d: micros(usage.ru_utime) + micros(usage.ru_stime),
        e: usage.ru_maxrss as u64,
        f: if full { FLAG_DISK_FULL } else { 0 },
        ..Record::new(Tag::Ended)
    }
}

#[cfg(test)]
mod tests {
    use super::above_streams;
    use std::fs::File;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    #[test]
    fn what_is_kept_never_has_the_number_of_a_stream() {
        let high: OwnedFd = File::open("/dev/null").unwrap().into();
        let number = high.as_raw_fd();
        assert_eq!(above_streams(Some(high)).unwrap().unwrap().as_raw_fd(), number, "it stays where it is");
        // SAFETY: nobody else in this process reads what it is told.
        let low = unsafe { OwnedFd::from_raw_fd(0) };
        assert!(above_streams(Some(low)).unwrap().unwrap().as_raw_fd() > 2);
        assert!(above_streams(None).unwrap().is_none());
    }
}
