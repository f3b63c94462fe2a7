//! The caller's half of a launch: one clone, the maps, the trees that only the caller may map, and then the reports.

use super::call::{Errno, check, check_fd, check_int};
use super::cgroup::Entrance;
use super::child::{Line, Stage};
use super::recipe::{Access, Identity, NetNamespace, Recipe, Source, Step};
use super::shim::{self, Prepared};
use super::wire::{self, FLAG_DISK_FULL, Record, Tag};
use super::{creds, mount};
use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::time::Duration;

/// Room for the few frames between the last clone and exec.
const STACK_BYTES: usize = 64 * 1024;

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
}

impl SpawnError {
    /// The kernel's answer, where there was one.
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Namespaces { errno }
            | Self::Caller { errno, .. }
            | Self::Inside { errno, .. }
            | Self::NotStarted { errno } => Some(*errno),
            Self::Vanished => None,
        }
    }
}

/// A sandbox in which the command runs. Dropping it kills everything inside and waits until it is gone.
#[derive(Debug)]
pub struct Launched {
    shim: Child,
    control: OwnedFd,
    master: Option<OwnedFd>,
}

/// What the shim reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// The command ended.
    Ended(Ended),
    /// A reserved name was asked for: its index in the recipe, and the pid inside.
    Denied {
        /// Which reserved name.
        reserved: usize,
        /// Who asked.
        pid: u32,
    },
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
    /// Readable when a report waits.
    pub fn reports(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// The caller's side of the terminal, if the recipe asked for one.
    pub fn take_master(&mut self) -> Option<OwnedFd> {
        self.master.take()
    }

    /// The shim's pid on the host.
    pub fn pid(&self) -> u32 {
        self.shim.pid as u32
    }

    /// Waits for the next report.
    pub fn report(&mut self) -> Report {
        loop {
            let Ok(Some(record)) = wire::receive(self.control.as_fd(), &mut []) else { return Report::Lost };
            if record.tag == Tag::Denied as u32 {
                return Report::Denied { reserved: record.a as usize, pid: record.b as u32 };
            }
            if record.tag == Tag::Ended as u32 {
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

    /// Sends a signal to the command's process group. A command that is gone already is not an error.
    pub fn signal(&self, signal: i32) {
        let record = Record { a: signal, ..Record::new(Tag::Signal) };
        let _ = wire::send(self.control.as_fd(), &record, &[]);
    }

    /// Kills everything inside.
    pub fn kill(&self) {
        self.shim.kill();
    }

    /// Ends what is left and waits until it is gone: a pid namespace ends before its first process does.
    pub fn wait_gone(mut self) {
        // A shim that has told the end has nothing left to do; one that is stuck must not keep us.
        self.shim.kill();
        self.shim.reap();
    }
}

/// A child process that does not outlive its owner.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) pid: i32,
    pub(crate) pidfd: OwnedFd,
    reaped: bool,
}

impl Child {
    pub(crate) fn kill(&self) {
        let none = ptr::null::<libc::siginfo_t>();
        // SAFETY: plain numbers; the descriptor refers to this very process, whatever happens to its number.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.pidfd.as_raw_fd(), libc::SIGKILL, none, 0) };
    }

    /// Waits for the end; gives the exit code or 128 and the signal.
    pub(crate) fn reap(&mut self) -> i32 {
        if self.reaped {
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
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// A copy of this process in new namespaces, running `body`, which must obey the rules of a cloned child.
pub(crate) fn clone_into(namespaces: u64, cgroup: Option<BorrowedFd<'_>>, body: impl FnOnce()) -> Result<Child, Errno> {
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
    Ok(Child { pid: pid as i32, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) }, reaped: false })
}

/// Every namespace but the network's and the cgroup's, which the child makes after it has joined.
pub(crate) const NAMESPACES: u64 =
    (libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS) as u64;

/// Carries a recipe out: returns when the command has been executed, or with what kept it from that.
pub fn spawn(recipe: &Recipe) -> Result<Launched, SpawnError> {
    let caller = |what: &str, call| {
        let what = what.to_owned();
        move |errno| SpawnError::Caller { what, call, errno }
    };
    let (ours, theirs) = socket_pair().map_err(caller("make the control socket", "socketpair"))?;
    let argv = pointers(&recipe.command.argv);
    let envp = pointers(&recipe.command.env);
    let mut stack = vec![0u8; STACK_BYTES];
    let network = if recipe.net == NetNamespace::Own { libc::CLONE_NEWNET as u64 } else { 0 };

    let cgroup = match &recipe.cgroup {
        Some(Entrance::Born(directory)) => Some(directory.as_fd()),
        Some(Entrance::Join(_)) | None => None,
    };
    let shim = clone_into(NAMESPACES | network, cgroup, || {
        let prepared = Prepared { recipe, argv: &argv, envp: &envp, stack: &mut stack };
        // SAFETY: the child's copy of the socket; duplicated so that the closure does not move the parent's, and closed
        // on exec: whoever holds it can speak as the shim.
        let control = unsafe { OwnedFd::from_raw_fd(libc::fcntl(theirs.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3)) };
        // SAFETY: the parent's end must not stay open here, or the lifeline would never end.
        unsafe { libc::close(ours.as_raw_fd()) };
        shim::live(prepared, control)
    })
    .map_err(|errno| SpawnError::Namespaces { errno })?;
    drop(theirs);

    let mut launched = Launched { shim, control: ours, master: None };
    match recipe.identity {
        Identity::Same { .. } => {}
        Identity::Range { base, count, .. } => launched.give_range(recipe, base, count)?,
        Identity::HostRoot => launched.give_host_root()?,
    }
    launched.await_ready(recipe)?;
    Ok(launched)
}

impl Launched {
    /// Maps a range and sends the trees whose owners are mapped through it.
    fn give_range(&self, recipe: &Recipe, base: u32, count: u32) -> Result<(), SpawnError> {
        let mut line = Line::new();
        self.write_map("uid_map", line.map(0, base, count))?;
        self.write_map("gid_map", line.map(0, base, count))?;
        let userns = std::fs::File::open(self.proc_path("ns/user")).map_err(|error| SpawnError::Caller {
            what: "open the user namespace".to_owned(),
            call: "open",
            errno: Errno(error.raw_os_error().unwrap_or(libc::EIO)),
        })?;
        let mut trees = Vec::new();
        for step in &recipe.steps {
            let Step::Bind { source: Source::Resolved(path), access, .. } = step else { continue };
            let shown = OsStr::from_bytes(path.as_bytes()).display();
            let fault = |call| move |errno| (call, errno);
            let tree = mount::locate(path)
                .map_err(fault("openat2"))
                .and_then(|place| mount::clone_tree(place.as_fd()).map_err(fault("open_tree")))
                .and_then(|tree| {
                    let read_only = if *access == Access::ReadOnly { mount::RDONLY } else { 0 };
                    let flags = mount::NOSUID | mount::NODEV | read_only;
                    mount::idmap_tree(tree.as_fd(), userns.as_fd(), flags)
                        .map_err(fault("mount_setattr MOUNT_ATTR_IDMAP"))?;
                    Ok(tree)
                })
                .map_err(|(call, errno)| SpawnError::Caller { what: format!("show `{shown}` inside"), call, errno })?;
            trees.push(tree);
        }
        if let Identity::Range { uid, gid, .. } = recipe.identity {
            for stream in &recipe.command.stdio {
                give_pipe(stream.as_fd(), base + uid, base + gid);
            }
        }
        let numbers: Vec<_> = trees.iter().map(AsRawFd::as_raw_fd).collect();
        self.send_go(&numbers)
    }

    fn give_host_root(&self) -> Result<(), SpawnError> {
        let mut line = Line::new();
        self.write_map("uid_map", line.map(0, 0, 1))?;
        self.write_map("gid_map", line.map(0, 0, 1))?;
        self.send_go(&[])
    }

    fn proc_path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.shim.pid))
    }

    fn write_map(&self, name: &str, line: &[u8]) -> Result<(), SpawnError> {
        let path = CString::new(self.proc_path(name).into_os_string().into_encoded_bytes())
            .expect("invariant: the path is made of digits and a literal");
        creds::write_file(&path, line).map_err(|errno| SpawnError::Caller {
            what: "write the user and group maps".to_owned(),
            call: "write uid_map",
            errno,
        })
    }

    fn send_go(&self, trees: &[i32]) -> Result<(), SpawnError> {
        wire::send(self.control.as_fd(), &Record::new(Tag::Go), trees).map_err(|errno| SpawnError::Caller {
            what: "give the go-ahead".to_owned(),
            call: "sendmsg",
            errno,
        })
    }

    fn await_ready(&mut self, recipe: &Recipe) -> Result<(), SpawnError> {
        loop {
            let mut descriptors = [None];
            let record = match wire::receive(self.control.as_fd(), &mut descriptors) {
                Ok(Some(record)) => record,
                Ok(None) | Err(_) => return Err(SpawnError::Vanished),
            };
            if record.tag == Tag::Ready as u32 {
                return Ok(());
            }
            if record.tag == Tag::Master as u32 {
                self.master = descriptors[0].take();
            } else if record.tag == Tag::NotStarted as u32 {
                return Err(SpawnError::NotStarted { errno: Errno(record.c) });
            } else if record.tag == Tag::Failed as u32 {
                return Err(described(recipe, &record));
            }
        }
    }
}

/// Gives an anonymous pipe to the user inside, so that `/dev/stdout` can be opened by name there; others have no names.
fn give_pipe(stream: BorrowedFd<'_>, uid: u32, gid: u32) {
    const PIPEFS_MAGIC: u64 = 0x5049_5045;
    // SAFETY: all-zero is a valid `statfs`, which the call fills; the descriptor is borrowed for the calls.
    unsafe {
        let mut disk: libc::statfs = std::mem::zeroed();
        if libc::fstatfs(stream.as_raw_fd(), &raw mut disk) == 0 && u64::try_from(disk.f_type) == Ok(PIPEFS_MAGIC) {
            // A convenience: a pipe that stays another's can still be used through its descriptor.
            libc::fchown(stream.as_raw_fd(), uid, gid);
        }
    }
}

fn described(recipe: &Recipe, record: &Record) -> SpawnError {
    let Some(stage) = Stage::from_number(record.a) else { return SpawnError::Vanished };
    let (what, call) = stage.words();
    let errno = Errno(record.c);
    if stage != Stage::Step {
        return SpawnError::Inside { what: what.to_owned(), call, errno, step: None };
    }
    let index = record.b as usize;
    let (what, call) = recipe.steps.get(index).map_or((what.to_owned(), call), step_words);
    SpawnError::Inside { what, call, errno, step: Some(index) }
}

/// What a step does, in words.
fn step_words(step: &Step) -> (String, &'static str) {
    let shown = |path: &CString| OsStr::from_bytes(path.as_bytes()).display().to_string();
    match step {
        Step::Directory { at, .. } => (format!("make the directory `/{}`", shown(at)), "mkdir"),
        Step::File { at, .. } => (format!("write `/{}`", shown(at)), "open"),
        Step::Copy { from, .. } => (format!("copy `{}`", shown(from)), "read"),
        Step::Symlink { at, .. } => (format!("make the link `/{}`", shown(at)), "symlink"),
        Step::Bind { source: Source::System(path) | Source::Resolved(path), at, .. } => {
            (format!("show `{}` at `/{}`", shown(path), shown(at)), "move_mount")
        }
        Step::ShowIfThere { from, .. } => (format!("show `{}`", shown(from)), "move_mount"),
        Step::Device { from, .. } => (format!("show the device `{}`", shown(from)), "move_mount"),
        Step::Scratch { at } => (format!("make `/{}` writable", shown(at)), "move_mount"),
        Step::Proc { .. } => ("mount `/proc`".to_owned(), "fsmount proc"),
        Step::Terminals { .. } => ("mount `/dev/pts`".to_owned(), "fsmount devpts"),
        Step::Protect { at } => (format!("protect `/{}`", shown(at)), "move_mount"),
        Step::Pin { at } => (format!("pin `/{}`", shown(at)), "move_mount"),
        Step::Hide { at, .. } => (format!("hide `/{}`", shown(at)), "move_mount"),
    }
}

/// A list as exec wants it: pointers to C strings, ended by null.
fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

pub(crate) fn socket_pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let mut ends = [-1i32; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: room for two descriptors.
    check_int(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) })?;
    Ok((check_fd(i64::from(ends[0]))?, check_fd(i64::from(ends[1]))?))
}
