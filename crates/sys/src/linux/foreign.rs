//! A sandbox whose ground another program builds. Our shim is what it starts.
//!
//! The program gets three things at fixed numbers beside its own three streams: the shim's end of the control socket, the
//! shim itself, so that no path has to lead to it inside, and whatever the engine adds. The shim then gets its recipe
//! over the socket, as every other shim does.

use super::call::{Errno, check, check_int, open_at};
use super::cgroup::Entrance;
use super::child::{Failure, Line, Stage, build_stage};
use super::launched::{Go, Launched, MadeBy, SpawnError, caller, clone_into, clone_sharing, in_memory, socket_pair};
use super::mapped::{give_identity, give_pipe, map_ids, mapped_trees};
use super::recipe::{Access, Apart, Finish, Identity, Inside, Staging};
use super::wire::{self, DESCRIPTORS_MAX, Record, Tag};
use super::{creds, image, inmate, mount, porter, shim};
use crate::Command;
use std::ffi::{CStr, CString, OsStr};
use std::io::{Read, Seek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
/// How long a program may take to get to the shim. They take milliseconds; one that does nothing must not keep us.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether this program becomes the shim when it is asked to.
static CAN_BE_SHIM: AtomicBool = AtomicBool::new(false);

/// Makes this program one that can be the shim, and becomes it when asked; call it first in `main`.
pub fn become_shim_if_asked() {
    CAN_BE_SHIM.store(true, Ordering::Relaxed);
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(first) if first == OsStr::new(ARGUMENT) => {}
        Some(first) if first == OsStr::new(porter::ARGUMENT) => porter::live(),
        Some(first) if first == OsStr::new(inmate::ARGUMENT) => inmate::live(),
        _ => return,
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

/// Whether this program becomes the shim when it is asked to.
pub(crate) fn can_be_shim() -> bool {
    CAN_BE_SHIM.load(Ordering::Relaxed)
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
    /// What is built before the program starts; absent for an ordinary user.
    pub outer: Option<&'a Outer>,
    /// A stage that is built around the program first, instead.
    pub staging: Option<&'a Staging>,
    /// The run's cgroup, if it has one. The program is in it, too.
    pub cgroup: Option<&'a Entrance>,
    /// What the shim has left to do on the ground that it finds, and what it insists on.
    pub finish: Option<&'a Finish>,
    /// What the shim does inside.
    pub inside: &'a Inside,
    /// The command's streams.
    pub stdio: &'a [OwnedFd; 3],
    /// What the shim holds open until nothing of the sandbox is left, such as a lock. The command does not get it.
    pub kept: Option<BorrowedFd<'a>>,
    /// Whether the program removes files of its own when its shim has ended; if not, it is ended then, too.
    pub tidies: bool,
}

/// What a root caller builds around a program that would otherwise run as the host's uid 0, and whose command would be
/// that, too: a user namespace of unprivileged ids, and what is shown, with its owners mapped, in a mount namespace in
/// which the program finds it. The program then starts without any privilege, as an ordinary user would start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outer {
    /// The uid of the program and of the command: `base` more in the eyes of the host.
    pub uid: u32,
    /// The gid, likewise.
    pub gid: u32,
    /// Where the range begins on the host.
    pub base: u32,
    /// How many ids it has.
    pub count: u32,
    /// What is shown, in order; the program finds each at its [`Outer::place`].
    pub shown: Vec<OuterShown>,
}

/// A host path that a program is to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OuterShown {
    /// The path in its resolved form; a symbolic link in it ends the launch.
    pub path: CString,
    /// Whether it can be written.
    pub access: Access,
    /// Whether it is a directory.
    pub directory: bool,
}

impl Outer {
    /// Where the trees are attached: a directory that every machine has, that no sandbox shows, and that is covered in
    /// the program's own mount namespace only.
    const HOLDER: &CStr = c"/sys";

    /// Where the program finds what is shown under this number.
    pub fn place(index: usize) -> CString {
        let holder = Self::HOLDER.to_string_lossy();
        CString::new(format!("{holder}/{index}")).expect("invariant: digits and a literal")
    }
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

/// A file in memory with this content, to be read from its beginning.
pub fn memory_file(content: &[u8]) -> std::io::Result<OwnedFd> {
    let mut file = std::fs::File::from(in_memory(content)?);
    file.rewind()?;
    Ok(file.into())
}

/// The caller's own namespaces of these kinds: what a shim must not find itself in.
pub fn own_namespaces(kinds: &[&str]) -> std::io::Result<Vec<Apart>> {
    let one = |kind: &&str| {
        let path = format!("/proc/self/ns/{kind}");
        let number = std::fs::metadata(&path)?.ino();
        Ok(Apart { path: CString::new(path)?, number })
    };
    kinds.iter().map(one).collect()
}

/// Starts the program and, through it, the shim; returns when the command has been executed.
pub fn spawn_foreign(foreign: &Foreign<'_>) -> Result<Launched, ForeignError> {
    if !can_be_shim() {
        return Err(ForeignError::NoShim);
    }
    let Foreign { program, added, outer, staging, cgroup, finish, inside, stdio, kept, tidies } = *foreign;
    let io =
        |what, call| move |error: std::io::Error| caller(what, call)(Errno(error.raw_os_error().unwrap_or(libc::EIO)));
    let ranged = staging.is_some_and(|staging| matches!(staging.identity, Identity::Range { .. }));
    let own = shim_file(outer.is_some() || ranged).map_err(io("open the shim", "open /proc/self/exe"))?;
    let null =
        std::fs::File::options().read(true).write(true).open("/dev/null").map_err(io("open /dev/null", "open"))?;
    let (mut said, says) = std::io::pipe().map_err(io("make a pipe", "pipe2"))?;
    let (ours, theirs) = socket_pair().map_err(caller("make the control socket", "socketpair"))?;
    let (gate, entrance) = socket_pair().map_err(caller("make the control socket", "socketpair"))?;
    let placed = [null.as_raw_fd(), null.as_raw_fd(), says.as_raw_fd(), theirs.as_raw_fd(), own.as_raw_fd()];
    let placed: Vec<RawFd> = placed.into_iter().chain(added.iter().map(AsRawFd::as_raw_fd)).collect();
    let (doors, born) = match cgroup {
        Some(Entrance::Join(doors)) => (doors.as_slice(), None),
        Some(Entrance::Born(directory)) => (&[][..], Some(directory.as_fd())),
        None => (&[][..], None),
    };
    let steps = staging.map(|staging| image::encode_steps(&staging.steps));
    let mut start = Start {
        staging: staging.zip(steps.as_deref()),
        step: 0,
        program,
        moved: vec![-1; placed.len()],
        placed: &placed,
        argv: pointers(&program.argv),
        envp: pointers(&program.env),
        doors,
        outer,
        gate: entrance.as_raw_fd(),
        control: theirs.as_raw_fd(),
    };
    let live = || {
        // SAFETY: plain numbers. The caller's ends must not stay open here, or its death would not be seen.
        unsafe {
            libc::close(ours.as_raw_fd());
            libc::close(gate.as_raw_fd());
        }
        let Err((stage, errno)) = start.execute();
        let record = Record { a: stage as i32, b: start.step, c: errno.0, ..Record::new(Tag::Failed) };
        // SAFETY: the number is open for as long as this process lives.
        let control = unsafe { BorrowedFd::borrow_raw(start.control) };
        // If this fails too, the caller sees that nothing came.
        let _ = wire::send(control, &record, &[]);
        shim::exit(127)
    };
    let child = match (outer.is_some() || staging.is_some(), born) {
        // We have to be at work while it waits.
        (true, _) => clone_into((libc::CLONE_NEWUSER | libc::CLONE_NEWNS) as u64, born, live),
        (false, Some(_)) => clone_into(0, born, live),
        (false, None) => clone_sharing(live),
    }
    .map_err(|errno| SpawnError::Namespaces { errno })?;
    drop((theirs, says, own, null, entrance));
    let mut launched = Launched::new(child, ours);
    launched.program_tidies = tidies;
    if let Some(outer) = outer {
        let Outer { uid, gid, base, count, shown } = outer;
        map_ids(launched.shim.pid, 0, *base, *count)?;
        for stream in stdio {
            give_pipe(stream.as_fd(), base + uid, base + gid);
        }
        let trees = mapped_trees(launched.shim.pid, shown.iter().map(|shown| (shown.path.as_c_str(), shown.access)))?;
        let trees: Vec<_> = trees.iter().map(AsRawFd::as_raw_fd).collect();
        match wire::send(gate.as_fd(), &Record::new(Tag::Go), &trees) {
            // A child that failed before has left its reason; reading on gives it.
            Ok(()) | Err(Errno(libc::EPIPE | libc::ECONNRESET)) => {}
            Err(errno) => return Err(caller("hand over what is shown", "sendmsg")(errno).into()),
        }
    }
    if let Some(staging) = staging {
        let trees = give_identity(launched.shim.pid, staging.identity, &staging.steps, stdio)?;
        let trees: Vec<_> = trees.iter().map(AsRawFd::as_raw_fd).collect();
        match wire::send(gate.as_fd(), &Record::new(Tag::Go), &trees) {
            // As above.
            Ok(()) | Err(Errno(libc::EPIPE | libc::ECONNRESET)) => {}
            Err(errno) => return Err(caller("hand over what is shown", "sendmsg")(errno).into()),
        }
    }
    let image = image::encode(None, finish, inside);
    let go = Go { image, made_by: MadeBy::Program, stdio, doors: 0, more: &[], kept };
    let steps = match (staging, finish) {
        (Some(staging), _) => &staging.steps,
        (None, Some(finish)) => &finish.steps,
        (None, None) => &inside.made,
    };
    match launched.start(&go, steps, Some(PATIENCE)) {
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

/// Our own program, in a form that the user inside can execute.
fn shim_file(for_another_user: bool) -> std::io::Result<OwnedFd> {
    let mut own = std::fs::File::open("/proc/self/exe")?;
    if !for_another_user || own.metadata()?.mode() & 0o001 != 0 {
        return Ok(own.into());
    }
    let mut content = Vec::new();
    own.read_to_end(&mut content)?;
    memory_file(&content)
}

/// What the process between clone and exec reads, with nothing left to allocate.
struct Start<'a> {
    program: &'a Command,
    placed: &'a [RawFd],
    moved: Vec<RawFd>,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
    doors: &'a [OwnedFd],
    outer: Option<&'a Outer>,
    /// A stage, with its steps as bytes.
    staging: Option<(&'a Staging, &'a [u8])>,
    /// The step of the stage that failed.
    step: i32,
    gate: RawFd,
    control: RawFd,
}

impl Start<'_> {
    /// From the clone to the program: joins the cgroup, builds what is around the program, places the descriptors, and
    /// closes the rest. All signals stay blocked where we share memory: none of our handlers may run there, and nobody but
    /// us has anything to tell the program.
    fn execute(&mut self) -> Result<std::convert::Infallible, (Stage, Errno)> {
        let at = |stage| move |errno| (stage, errno);
        shim::block_all_signals();
        // Join before the identity changes: afterwards we are nobody and the write is refused.
        for door in self.doors {
            creds::write_once(door.as_raw_fd(), b"0").map_err(at(Stage::Cgroup))?;
        }
        if let Some(outer) = self.outer {
            enclose(outer, self.gate)?;
        }
        if let Some((staging, steps)) = self.staging {
            let built = set_stage(staging, steps, self.gate);
            if let Err(Failure { stage, index, errno }) = built {
                self.step = index as i32;
                return Err((stage, errno));
            }
        }
        // A caller that dies does not take the program along: killed between two of its own processes,
        // a program leaves one of them asleep. It goes on to the shim, which finds the control socket
        // closed, sets aside what must not stay, and ends; with the shim the program ends.
        self.place_descriptors().map_err(at(Stage::Descriptors))?;
        // SAFETY: plain numbers, static sets, and C strings and lists that outlive the calls.
        unsafe {
            libc::setsid();
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            check_int(libc::chdir(self.program.workdir.as_ptr())).map_err(at(Stage::Workdir))?;
            if self.staging.is_some() {
                // On memory of our own a handler harms nobody, and a program may wait for its child by a signal.
                let mut none: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut none);
                libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            }
            for candidate in &self.program.candidates {
                libc::execve(candidate.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr());
            }
        }
        Err((Stage::Program, Errno::last()))
    }

    fn place_descriptors(&mut self) -> Result<(), Errno> {
        // SAFETY: plain numbers.
        unsafe {
            // All above the numbers that they are placed at, so that none is overwritten before it is placed.
            for (from, to) in self.placed.iter().zip(self.moved.iter_mut()) {
                *to = check_int(libc::fcntl(*from, libc::F_DUPFD_CLOEXEC, self.placed.len() as RawFd))?;
            }
            self.control = self.moved[CONTROL as usize];
            for (number, from) in self.moved.iter().enumerate() {
                check_int(libc::dup2(*from, number as RawFd))?;
            }
            self.control = CONTROL;
            check(libc::syscall(libc::SYS_close_range, self.placed.len(), libc::c_uint::MAX, 0)).map(drop)
        }
    }
}

/// What is around the program of a root caller: its ids and what it shows. Afterwards nothing of root is left.
fn enclose(outer: &Outer, gate: RawFd) -> Result<(), (Stage, Errno)> {
    let at = |stage| move |errno| (stage, errno);
    let mut trees = [const { None::<OwnedFd> }; DESCRIPTORS_MAX];
    // SAFETY: the caller made this descriptor and keeps it open in this process.
    let gate = unsafe { BorrowedFd::borrow_raw(gate) };
    match wire::receive(gate, &mut trees) {
        Ok(Some(record)) if record.tag == Tag::Go as u32 => {}
        Ok(_) => return Err((Stage::Lifeline, Errno(libc::EPIPE))),
        Err(errno) => return Err((Stage::Lifeline, errno)),
    }
    // First, because what has no id inside can make nothing; and once only: from the host's uid 0, which is not that of
    // the namespace, the change keeps the capabilities that the mounts need.
    creds::become_user(outer.uid, outer.gid).map_err(at(Stage::Identity))?;
    mount::make_private().map_err(at(Stage::Private))?;
    attach(&outer.shown, &mut trees).map_err(at(Stage::Outer))?;
    // No capability, none by executing anything, also not as the namespace's uid 0. The program makes a user namespace
    // of its own, in which it has what it needs. To exist there, too, uid 0 needs one: it may name the capabilities of
    // files, in the eyes of a namespace of unprivileged ids. What the program starts is in the namespace below and has
    // nothing of it.
    let kept: &[u32] = if outer.uid == 0 { &[creds::CAP_SETFCAP] } else { &[] };
    creds::empty_bounding_set(kept).and_then(|()| creds::drop_all_but(kept)).map_err(at(Stage::Privileges))
}

/// The stage around a program; see [`Staging`].
fn set_stage(staging: &Staging, steps: &[u8], gate: RawFd) -> Result<(), Failure> {
    let failed = |stage| move |errno| Failure { stage, index: 0, errno };
    let Staging { identity, scratch_bytes, steps: _ } = *staging;
    let steps =
        image::decode_steps(steps).ok_or(Failure { stage: Stage::Recipe, index: 0, errno: Errno(libc::EBADMSG) })?;
    let mut trees = [const { None::<OwnedFd> }; DESCRIPTORS_MAX];
    // SAFETY: the caller made this descriptor and keeps it open in this process.
    let gate = unsafe { BorrowedFd::borrow_raw(gate) };
    shim::wait_for_go(gate, &mut trees)?;
    // SAFETY: plain numbers. Modes on the stage are given exactly; the program gets the caller's mask again.
    let mask = unsafe { libc::umask(0) };
    build_stage(identity, scratch_bytes, Staging::PLACE, steps, &mut trees)?;
    // SAFETY: as above.
    unsafe { libc::umask(mask) };
    let uid = match identity {
        Identity::Same { uid, .. } | Identity::Range { uid, .. } => uid,
        Identity::HostRoot => 0,
    };
    // As above: nothing that the program does not make for itself in a namespace of its own, but what it takes to map ids
    // there. As a uid 0, of unprivileged ids, it may take itself for root and not map itself as a user does.
    let kept: &[u32] = if uid == 0 { &[creds::CAP_SETGID, creds::CAP_SETUID, creds::CAP_SETFCAP] } else { &[] };
    creds::empty_bounding_set(kept).and_then(|()| creds::drop_all_but(kept)).map_err(failed(Stage::Privileges))
}

fn attach(shown: &[OuterShown], trees: &mut [Option<OwnedFd>]) -> Result<(), Errno> {
    let flags = mount::NOSUID | mount::NODEV | mount::NOEXEC;
    let holder = mount::new_filesystem(c"tmpfs", &[(c"mode", c"0755")], flags)?;
    mount::attach_at(holder.as_fd(), Outer::HOLDER)?;
    // SAFETY: the descriptor is ours.
    check_int(unsafe { libc::fchdir(holder.as_raw_fd()) })?;
    let mut line = Line::new();
    for (index, (shown, tree)) in shown.iter().zip(trees).enumerate() {
        let (tree, place) = (tree.take().ok_or(Errno(libc::EBADF))?, line.text(index as u64));
        if shown.directory {
            // SAFETY: the path outlives the call.
            check_int(unsafe { libc::mkdir(place.as_ptr(), 0o755) })?;
        } else {
            drop(open_at(place, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC, 0o644)?);
        }
        mount::attach_at(tree.as_fd(), place)?;
    }
    mount::restrict_mount(holder.as_fd(), mount::RDONLY)
}

/// A list as exec wants it: pointers to C strings, ended by null.
fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}
