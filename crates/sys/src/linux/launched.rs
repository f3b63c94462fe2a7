//! A sandbox in which a command runs, as its caller sees it: reports, signals, and the end.

use super::call::{Errno, check, check_fd, check_int};
use super::child::Stage;
use super::denials::{Denial, Seen};
use super::mutate::{self, Layer};
use super::recipe::{Hold, Source, Step};
use super::shim::{pid_namespace, user_namespace};
use super::wire::{self, FLAG_DISK_FULL, Record, Tag};
use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

/// Why a sandbox did not come to be.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The kernel does not give us the namespaces.
    #[error("cannot make the namespaces: clone3: {errno}")]
    Namespaces {
        /// The kernel's answer.
        errno: Errno,
    },
    /// The caller's own part failed: maps, id-mapped mounts, descriptors.
    #[error("cannot {what}: {call}: {errno}")]
    Caller {
        /// What was being done.
        what: String,
        /// The call.
        call: &'static str,
        /// The kernel's answer.
        errno: Errno,
    },
    /// A step inside failed, and everything was undone.
    #[error("cannot {what}: {call}: {errno}")]
    Inside {
        /// What was being done.
        what: String,
        /// The call.
        call: &'static str,
        /// The kernel's answer.
        errno: Errno,
        /// The step of the recipe, when it was one.
        step: Option<usize>,
    },
    /// The command could not be executed.
    #[error("cannot execute the command: {errno}")]
    NotStarted {
        /// The kernel's answer.
        errno: Errno,
    },
    /// The shim vanished before it said anything.
    #[error("the sandbox vanished while it was being made")]
    Vanished,
    /// What the recipe waits for was not made ready; whoever was to do it knows why.
    #[error("what the sandbox waits for was not made ready")]
    Unready,
    /// Nothing was heard of the sandbox for too long.
    #[error("the sandbox was not there after {seconds} seconds")]
    Silent {
        /// How long the caller waited.
        seconds: u64,
    },
}

impl SpawnError {
    /// The kernel's answer, where there was one.
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Namespaces { errno }
            | Self::Caller { errno, .. }
            | Self::Inside { errno, .. }
            | Self::NotStarted { errno } => Some(*errno),
            Self::Vanished | Self::Unready | Self::Silent { .. } => None,
        }
    }
}

/// A sandbox in which the command runs. Dropping it kills everything inside and waits until it is gone.
#[derive(Debug)]
pub struct Launched {
    /// The shim, where a program stands between it and us; it ends before that program does.
    inner: Option<Inner>,
    /// The shim, or the program that made it.
    pub(crate) shim: Child,
    pub(crate) control: OwnedFd,
    pub(crate) master: Option<OwnedFd>,
    /// The command's process, to be woken by its end.
    pub(crate) main: Option<OwnedFd>,
    /// Whether the program between us and the shim removes files of its own at the end.
    pub(crate) program_tidies: bool,
    /// The table of denials, once there was one.
    denials: Option<Seen>,
    /// Comes with the end.
    git_copies: Option<OwnedFd>,
}

/// How long a program may take to end after its shim.
const PROGRAM_ENDS_MS: i32 = 2000;

/// What the shim reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The command ended.
    Ended(Ended),
    /// Something was denied for the first time.
    Denied(Denial),
    /// The shim is gone without a word.
    Lost,
}

/// How the command ended.
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
    /// The private file systems were full.
    pub disk_full: bool,
}

impl Launched {
    pub(crate) fn new(shim: Child, control: OwnedFd) -> Self {
        Self {
            inner: None,
            shim,
            control,
            master: None,
            main: None,
            program_tidies: false,
            denials: None,
            git_copies: None,
        }
    }

    /// Readable when a report waits.
    pub fn reports(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Readable when the command has ended; the report follows within moments.
    pub fn ending(&self) -> Option<BorrowedFd<'_>> {
        self.main.as_ref().map(AsFd::as_fd)
    }

    /// The caller's side of the terminal, if the recipe asked for one.
    pub fn take_master(&mut self) -> Option<OwnedFd> {
        self.master.take()
    }

    /// The directory of private copies of git's configuration, when the end was told.
    pub fn take_git_copies(&mut self) -> Option<OwnedFd> {
        self.git_copies.take()
    }

    /// The shim's pid on the host.
    pub fn pid(&self) -> u32 {
        self.shim.pid as u32
    }

    /// Waits for the next report.
    pub fn report(&mut self) -> Report {
        loop {
            let mut descriptors = [None];
            let Ok(Some(record)) = wire::receive(self.control.as_fd(), &mut descriptors) else { return Report::Lost };
            if record.tag == Tag::Denials as u32 {
                self.denials = descriptors[0].take().map(Seen::new);
            }
            if record.tag == Tag::Observed as u32
                && let Some(denial) = self.denials.as_ref().and_then(|denials| denials.get(record.a as usize))
            {
                return Report::Denied(denial);
            }
            if record.tag == Tag::Ended as u32 {
                self.git_copies = descriptors[0].take();
                let status = record.a;
                return Report::Ended(Ended {
                    code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
                    signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
                    cpu: Duration::from_micros(record.d),
                    peak_rss_bytes: record.e * 1024,
                    disk_full: record.f & FLAG_DISK_FULL != 0,
                });
            }
        }
    }

    /// Everything that was denied so far, and how much more there was than could be kept.
    pub fn denials(&self) -> (Vec<Denial>, u64) {
        self.denials.as_ref().map_or((Vec::new(), 0), |denials| (denials.all(), denials.not_kept()))
    }

    /// Sends a signal to the command's process group. A command that is gone already is not an error.
    pub fn signal(&self, signal: i32) {
        let record = Record { a: signal, ..Record::new(Tag::Signal) };
        let _ = wire::send(self.control.as_fd(), &record, &[]);
    }

    /// Kills everything inside.
    pub fn kill(&self) {
        if let Some(inner) = &self.inner {
            kill(inner.0.as_fd());
        }
        self.shim.kill();
    }

    /// Leaves a shim that has told the end to the system's first process, if that collects what is left to it. All that
    /// remains is the kernel's work on the namespaces; everything inside was gone before the end was told. Only for a
    /// caller that ends now, too, and that has set aside what must not stay.
    pub fn leave(mut self) {
        if first_process_collects() && !self.program_tidies {
            self.shim.reaped = true;
            // Its descriptor closes, and nobody waits.
            if let Some(inner) = self.inner.take() {
                inner.leave();
            }
            // A shim that does not hear of it looks once more for what must not stay, which does no harm.
            let _ = wire::try_send(self.control.as_fd(), &Record::new(Tag::Tidy));
            // Our own end closes it. The shim waits for that, so that the two ends do not compete for one CPU.
            std::mem::forget(self.control);
        } else {
            self.wait_gone();
        }
    }

    /// Ends what is left and waits until it is gone: a pid namespace ends before its first process does.
    pub fn wait_gone(mut self) {
        // A shim that has told the end has nothing left to do; one that is stuck must not keep us.
        if let Some(inner) = self.inner.take() {
            drop(inner);
            // The program collects the shim, whose CPU time counts as ours by that alone, and may remove files of its own.
            let mut gone = libc::pollfd { fd: self.shim.pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry, valid for the call. Cut short or not, the program is ended next.
            unsafe { libc::poll(&raw mut gone, 1, PROGRAM_ENDS_MS) };
        }
        self.shim.kill();
        self.shim.reap();
    }
}

/// Whether orphans are collected here. The first process of the machine does that; that of a container is any program.
fn first_process_collects() -> bool {
    static COLLECTS: OnceLock<bool> = OnceLock::new();
    // The kernel gives the machine's own pid namespace this number.
    let is_first = || std::fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name.as_os_str() == "pid:[4026531836]");
    *COLLECTS.get_or_init(is_first)
}

/// A shim that is not our child. Dropping it ends it, and with it everything in its pid namespace, and waits for that.
#[derive(Debug)]
struct Inner(OwnedFd);

impl Inner {
    /// Closes the handle without waiting.
    fn leave(self) {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped nor used again, so the descriptor is moved out once.
        drop(unsafe { ptr::read(&raw const this.0) });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        kill(self.0.as_fd());
        // Readable when the process is gone; the first of a pid namespace goes after everyone else in it.
        let mut gone = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, valid for the call.
        while check_int(unsafe { libc::poll(&raw mut gone, 1, -1) }) == Err(Errno(libc::EINTR)) {}
    }
}

/// Ends the process that a handle refers to, whatever happens to its number. One that is gone is not an error.
fn kill(handle: BorrowedFd<'_>) {
    let none = ptr::null::<libc::siginfo_t>();
    // SAFETY: plain numbers; the descriptor is borrowed for the call.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, handle.as_raw_fd(), libc::SIGKILL, none, 0) };
}

/// A child process that does not outlive its owner.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) pid: i32,
    pub(crate) pidfd: OwnedFd,
    reaped: bool,
    /// Whether it is another process's child: it can be ended and waited for, and its parent collects it.
    anothers: bool,
}

impl Child {
    /// Our own, by its handle.
    pub(crate) fn ours(pid: i32, pidfd: OwnedFd) -> Self {
        Self { pid, pidfd, reaped: false, anothers: false }
    }

    /// Somebody else's child, by its handle.
    pub(crate) fn of_another(pid: i32, pidfd: OwnedFd) -> Self {
        Self { pid, pidfd, reaped: false, anothers: true }
    }

    /// Leaves it to itself.
    pub(crate) fn let_go(&mut self) {
        self.reaped = true;
    }

    pub(crate) fn kill(&self) {
        kill(self.pidfd.as_fd());
    }

    /// Waits for the end, but not for long.
    fn await_end(&self, patience: Duration) {
        // Whether it came does not matter: whoever does not end is killed.
        let _ = super::wait::readable(&[Some(self.pidfd.as_fd())], Some(patience));
    }

    /// Waits for the end; gives the exit code or 128 and the signal.
    pub(crate) fn reap(&mut self) -> i32 {
        if self.reaped {
            return 0;
        }
        if self.anothers {
            self.reaped = true;
            let mut gone = libc::pollfd { fd: self.pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry, valid for the call.
            while check_int(unsafe { libc::poll(&raw mut gone, 1, -1) }) == Err(Errno(libc::EINTR)) {}
            return 0;
        }
        // SAFETY: all-zero is a valid `siginfo_t`.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::__WALL;
        loop {
            // SAFETY: `info` is valid for writing.
            let answer = unsafe { libc::waitid(libc::P_PIDFD, self.pidfd.as_raw_fd() as u32, &raw mut info, flags) };
            if check_int(answer) != Err(Errno(libc::EINTR)) {
                break;
            }
        }
        self.reaped = true;
        // SAFETY: for a child that ended, the kernel filled the status.
        let status = unsafe { info.si_status() };
        if info.si_code == libc::CLD_EXITED { status } else { 128 + status }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            self.reap();
        }
    }
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct CloneArgs {
    pub(crate) flags: u64,
    pub(crate) pidfd: u64,
    pub(crate) child_tid: u64,
    pub(crate) parent_tid: u64,
    pub(crate) exit_signal: u64,
    pub(crate) stack: u64,
    pub(crate) stack_size: u64,
    pub(crate) tls: u64,
    pub(crate) set_tid: u64,
    pub(crate) set_tid_size: u64,
    pub(crate) cgroup: u64,
}

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// How long a program may take to notice that the shim has ended.
const ENDING: Duration = Duration::from_secs(1);

/// A copy of this process in new namespaces, running `body`, which must obey the rules of a cloned child.
pub(crate) fn clone_into(namespaces: u64, cgroup: Option<BorrowedFd<'_>>, body: impl FnOnce()) -> Result<Child, Errno> {
    mutate::load();
    let mut pidfd: i32 = -1;
    let args = CloneArgs {
        flags: namespaces | libc::CLONE_PIDFD as u64 | cgroup.map_or(0, |_| CLONE_INTO_CGROUP),
        cgroup: cgroup.map_or(0, |fd| fd.as_raw_fd() as u64),
        pidfd: (&raw mut pidfd) as u64,
        exit_signal: libc::SIGCHLD as u64,
        ..CloneArgs::default()
    };
    // SAFETY: without a stack the child runs on a copy of ours; `body` does not allocate and does not return here.
    let pid = check(unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<CloneArgs>()) })?;
    if pid == 0 {
        body();
        // SAFETY: ends the child without running anything of the caller's.
        unsafe { libc::_exit(0) };
    }
    // SAFETY: the kernel just made this descriptor for us.
    Ok(Child { pid: pid as i32, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) }, reaped: false, anothers: false })
}

/// Room for the few frames between a clone and exec.
const STACK_BYTES: usize = 64 * 1024;

/// A process that runs `body` on our memory, while we wait until it executes a program or ends: nothing is copied.
/// `body` must obey the rules of a cloned child and must not return.
pub(crate) fn clone_sharing(mut body: impl FnMut()) -> Result<Child, Errno> {
    extern "C" fn run<F: FnMut()>(body: *mut libc::c_void) -> libc::c_int {
        // SAFETY: `clone_sharing` passes its `body`, which outlives the child's use of our memory.
        unsafe { (*body.cast::<F>())() };
        0
    }
    fn entry<F: FnMut()>(_: &F) -> extern "C" fn(*mut libc::c_void) -> libc::c_int {
        run::<F>
    }
    let mut stack = vec![0u8; STACK_BYTES];
    let mut pidfd: i32 = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    let run = entry(&body);
    // SAFETY: one past the end of the stack is where a stack that grows down begins; CLONE_VFORK holds us until the child
    // is done with our memory. No signal may come in between: the child would run our handlers on it.
    let pid = unsafe {
        let (mut all, mut old): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        let top = stack.as_mut_ptr().add(STACK_BYTES & !15);
        let pid = libc::clone(run, top.cast(), flags, (&raw mut body).cast(), &raw mut pidfd);
        let answer = check_int(pid);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, ptr::null_mut());
        answer?
    };
    // SAFETY: the kernel just made this descriptor for us.
    Ok(Child { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) }, reaped: false, anothers: false })
}

/// The layer of each of them.
pub(crate) const NAMESPACE_LAYERS: &[(u64, Layer)] = &[
    (libc::CLONE_NEWUSER as u64, Layer::NsUser),
    (libc::CLONE_NEWNS as u64, Layer::NsMount),
    (libc::CLONE_NEWPID as u64, Layer::NsPid),
    (libc::CLONE_NEWIPC as u64, Layer::NsIpc),
    (libc::CLONE_NEWUTS as u64, Layer::NsUts),
];

/// Every namespace but the network's and the cgroup's, which the child makes after it has joined.
pub(crate) const NAMESPACES: u64 =
    (libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS) as u64;

impl Launched {
    /// Gives the go-ahead; returns when the command has been executed, or with what kept it from that. `patience` is for
    /// a program between us and the shim, which may never get to it.
    pub(crate) fn start(self, go: &Go<'_>, steps: &[Step], patience: Option<Duration>) -> Result<Self, SpawnError> {
        self.start_with(go, steps, patience, |_, _| Ok(()))
    }

    /// The same, with something to do and to send as soon as the go-ahead is given.
    pub(crate) fn start_with(
        mut self,
        go: &Go<'_>,
        steps: &[Step],
        patience: Option<Duration>,
        then: impl FnOnce(&Child, BorrowedFd<'_>) -> Result<(), SpawnError>,
    ) -> Result<Self, SpawnError> {
        let Go { image, made_by, stdio, doors, more, kept } = go;
        let file = in_memory(image).map_err(caller("hand over the recipe", "memfd_create"))?;
        let first = [file.as_raw_fd()].into_iter().chain(stdio.iter().map(AsRawFd::as_raw_fd));
        let handed: Vec<_> = first.chain(kept.iter().map(AsRawFd::as_raw_fd)).chain(more.iter().copied()).collect();
        // What we have made ourselves needs no comparison.
        let (pids, users) = match made_by {
            MadeBy::Us => (0, 0),
            MadeBy::Program => (
                pid_namespace().map_err(caller("find the pid namespace", "stat"))?,
                user_namespace().map_err(caller("find the user namespace", "stat"))?,
            ),
        };
        let keeps = i32::from(kept.is_some());
        let record =
            Record { a: *doors as i32, b: keeps, d: image.len() as u64, e: pids, f: users, ..Record::new(Tag::Go) };
        match wire::send(self.control.as_fd(), &record, &handed) {
            // A shim that failed before the go-ahead has left its reason; reading on gives it.
            Ok(()) | Err(Errno(libc::EPIPE | libc::ECONNRESET)) => {
                then(&self.shim, self.control.as_fd())?;
                // Asked while there is nothing else to do; at the end somebody waits.
                first_process_collects();
                let heard = self.await_ready(steps, patience);
                if let (Some(_), Err(SpawnError::Inside { .. } | SpawnError::NotStarted { .. })) = (patience, &heard) {
                    // The shim ends by itself, and then the program that made it: killing that first would leave us with
                    // nobody to wait for.
                    self.shim.await_end(ENDING);
                }
                heard?;
            }
            Err(errno) => return Err(caller("give the go-ahead", "sendmsg")(errno)),
        }
        Ok(self)
    }

    fn await_ready(&mut self, steps: &[Step], patience: Option<Duration>) -> Result<(), SpawnError> {
        let begun = std::time::Instant::now();
        loop {
            if let Some(patience) = patience {
                let left = patience.saturating_sub(begun.elapsed());
                let heard = super::wait::readable(&[Some(self.control.as_fd())], Some(left));
                match heard.as_deref() {
                    Ok([true]) => {}
                    _ if left.is_zero() => return Err(SpawnError::Silent { seconds: patience.as_secs() }),
                    _ => continue,
                }
            }
            let mut descriptors = [None, None];
            let record = match wire::receive(self.control.as_fd(), &mut descriptors) {
                Ok(Some(record)) => record,
                Ok(None) | Err(_) => return Err(SpawnError::Vanished),
            };
            if record.tag == Tag::Ready as u32 {
                self.main = descriptors[0].take();
                self.inner = descriptors[1].take().map(Inner);
                return Ok(());
            }
            if record.tag == Tag::Master as u32 {
                self.master = descriptors[0].take();
            } else if record.tag == Tag::NotStarted as u32 {
                return Err(SpawnError::NotStarted { errno: Errno(record.c) });
            } else if record.tag == Tag::Failed as u32 {
                return Err(described(steps, &record));
            }
        }
    }
}

/// Who has made the namespaces that a shim finds itself in. Those of a program could turn out to be our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MadeBy {
    Us,
    Program,
}

/// What goes to the shim with the go-ahead.
pub(crate) struct Go<'a> {
    /// The recipe.
    pub(crate) image: Vec<u8>,
    /// Who has made the namespaces.
    pub(crate) made_by: MadeBy,
    /// The command's streams.
    pub(crate) stdio: &'a [OwnedFd; 3],
    /// How many of the further descriptors are cgroups to join.
    pub(crate) doors: usize,
    /// Further descriptors.
    pub(crate) more: &'a [RawFd],
    /// What the shim holds open to its end.
    pub(crate) kept: Option<BorrowedFd<'a>>,
}

pub(crate) fn caller(what: &str, call: &'static str) -> impl FnOnce(Errno) -> SpawnError {
    let what = what.to_owned();
    move |errno| SpawnError::Caller { what, call, errno }
}

/// A file with this content and without a name; its reader is at its end.
pub(crate) fn in_memory(content: &[u8]) -> Result<OwnedFd, Errno> {
    // SAFETY: a static name.
    let file = check_fd(unsafe { libc::syscall(libc::SYS_memfd_create, c"polder".as_ptr(), libc::MFD_CLOEXEC) })?;
    let mut rest = content;
    while !rest.is_empty() {
        // SAFETY: the buffer is valid for its length.
        let wrote = check(unsafe { libc::write(file.as_raw_fd(), rest.as_ptr().cast(), rest.len()) } as i64)?;
        rest = &rest[wrote as usize..];
    }
    Ok(file)
}

fn described(steps: &[Step], record: &Record) -> SpawnError {
    let Some(stage) = Stage::from_number(record.a) else { return SpawnError::Vanished };
    let (what, call) = stage.words();
    let errno = Errno(record.c);
    if stage != Stage::Step {
        return SpawnError::Inside { what: what.to_owned(), call, errno, step: None };
    }
    let index = record.b as usize;
    let (what, call) = steps.get(index).map_or((what.to_owned(), call), step_words);
    SpawnError::Inside { what, call, errno, step: Some(index) }
}

/// What a step does, in words.
fn step_words(step: &Step) -> (String, &'static str) {
    let shown = |path: &CString| OsStr::from_bytes(path.as_bytes()).display().to_string();
    match step {
        Step::Directory { at, .. } => (format!("make the directory `/{}`", shown(at)), "mkdir"),
        Step::File { at, .. } => (format!("write `/{}`", shown(at)), "open"),
        Step::Symlink { at, .. } => (format!("make the link `/{}`", shown(at)), "symlink"),
        Step::Bind {
            source: Source::System { path } | Source::Resolved { path } | Source::Private { path },
            at,
            ..
        } => (format!("show `{}` at `/{}`", shown(path), shown(at)), "move_mount"),
        Step::ShowIfThere { from, .. } => (format!("show `{}`", shown(from)), "move_mount"),
        Step::Device { from, .. } => (format!("show the device `{}`", shown(from)), "move_mount"),
        Step::Scratch { at } => (format!("make `/{}` writable", shown(at)), "move_mount"),
        Step::Proc { .. } => ("mount `/proc`".to_owned(), "fsmount proc"),
        Step::Terminals { .. } => ("mount `/dev/pts`".to_owned(), "fsmount devpts"),
        Step::Protect { at } => (format!("protect `/{}`", shown(at)), "move_mount"),
        Step::Pin { at } => (format!("pin `/{}`", shown(at)), "move_mount"),
        Step::Hide { at, .. } => (format!("hide `/{}`", shown(at)), "move_mount"),
        Step::Held { at, hold } => {
            let what = match hold {
                Hold::ReadOnly => "read-only",
                Hold::ReadWrite => "to be written",
                Hold::Hidden => "hidden",
            };
            (format!("find `/{}` mounted {what}: the program that was to do it did not", shown(at)), "statx")
        }
        Step::Place { at, .. } => (format!("show something at `/{}`", shown(at)), "move_mount"),
        Step::Copy { from, .. } => (format!("copy `/{}`", shown(from)), "sendfile"),
        Step::Cover { at, .. } => (format!("cover `/{}`", shown(at)), "move_mount"),
        Step::Await {} => ("wait for what the caller makes ready".to_owned(), "recvmsg"),
        Step::Overlay { at, .. } => (format!("lay a private layer over `/{}`", shown(at)), "fsconfig overlay"),
        Step::Settle { at, .. } => (format!("make `/{}` private", shown(at)), "move_mount"),
        Step::Withdraw { at } => (format!("take `/{}` out of view", shown(at)), "umount2"),
        Step::Remove { at } => (format!("remove the empty `/{}`", shown(at)), "rmdir"),
        Step::Same { at, .. } => (format!("find at `/{}` what was to be shown there", shown(at)), "fstat"),
    }
}

pub(crate) fn socket_pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let mut ends = [-1i32; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: room for two descriptors.
    check_int(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) })?;
    Ok((check_fd(i64::from(ends[0]))?, check_fd(i64::from(ends[1]))?))
}
