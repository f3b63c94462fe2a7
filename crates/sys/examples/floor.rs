//! The least that a sandbox costs on this kernel, whoever makes it: `floor [--heard] [--apart] [--layer STORE] COMMAND ARG…` executes a
//! command that may do everything below the working directory and read everything else that a root has. `cargo xtask bench`
//! measures it beside polder, so that the kernel's own price can be told from ours.
//!
//! - As it is: Landlock, and a filter of one instruction that allows every call. No namespace, no mount, nobody who watches.
//! - `--heard`: the filter notifies what polder's `exact` looks at, and a listener says yes without looking.
//! - `--apart`: in a user and a mount namespace of its own.
//! - `--layer`: the same, and the working directory is an overlay that keeps its changes in a new directory of the store, which is removed
//!   afterwards.

use polder_sys::syscalls::{Observe, program};
use std::convert::Infallible;
use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{Error, Read, Result, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Every right on files that Landlock knows since its fifth ABI.
const ALL: u64 = 0xffff;
/// Executing, reading files and directories.
const READ: u64 = 0b1101;
/// The same and writing, for devices.
const USE: u64 = 0b1111 | 1 << 14 | 1 << 15;
const RULE_PATH_BENEATH: i32 = 1;
const SET_MODE_FILTER: libc::c_uint = 1;
const NEW_LISTENER: libc::c_ulong = 1 << 3;
const NOTIF_RECV: libc::c_ulong = 0xc050_2100;
const NOTIF_SEND: libc::c_ulong = 0xc018_2101;
const NOTIF_SET_FLAGS: libc::c_ulong = 0x4008_2104;
const SYNC_WAKE_UP: u64 = 1;
const CONTINUE: u32 = 1;

#[repr(C)]
struct Ruleset {
    files: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

fn done(answer: libc::c_long) -> Result<i32> {
    if answer < 0 { Err(Error::last_os_error()) } else { Ok(answer as i32) }
}

fn restrict(here: &Path) -> Result<()> {
    let attributes = Ruleset { files: ALL };
    // SAFETY: the structure is as long as said and outlives the call.
    let ruleset = done(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attributes, size_of::<Ruleset>(), 0)
    })?;
    let read = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/opt", "/var", "/run"];
    let rules = [("/tmp", ALL), ("/dev", USE)].into_iter().chain(read.map(|path| (path, READ)));
    for (path, allowed) in rules.map(|(path, allowed)| (Path::new(path), allowed)).chain([(here, ALL)]) {
        let Ok(place) = File::open(path) else { continue };
        let rule = PathBeneath { allowed, parent: place.as_raw_fd() };
        // SAFETY: the rule has the layout of its type and outlives the call.
        done(unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &raw const rule, 0) })?;
    }
    // SAFETY: plain numbers.
    done(unsafe { libc::c_long::from(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) })?;
    // SAFETY: plain numbers.
    done(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) }).map(drop)
}

fn allow_everything() -> Result<()> {
    let mut allow = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x7fff_0000 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut allow };
    // SAFETY: the program points at one instruction, and both outlive the call.
    done(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, 0, &raw const program) }).map(drop)
}

/// Installs the filter that polder would, and gives the number of its listener.
fn be_heard() -> Result<RawFd> {
    let filter = program(Observe::Exact);
    // The instructions are laid out as the kernel's.
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut().cast() };
    // SAFETY: the program points at as many instructions as it says, and both outlive the call.
    done(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, NEW_LISTENER, &raw const program) })
}

/// Says yes to every call, until nobody is left who could make one.
fn say_yes(listener: &OwnedFd) {
    #[repr(C)]
    struct Response {
        id: u64,
        value: i64,
        error: i32,
        flags: u32,
    }
    let listener = listener.as_raw_fd();
    // SAFETY: the request takes a number.
    unsafe { libc::ioctl(listener, NOTIF_SET_FLAGS as _, SYNC_WAKE_UP) };
    loop {
        let mut ready = libc::pollfd { fd: listener, events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry that outlives the call.
        unsafe { libc::poll(&raw mut ready, 1, -1) };
        if ready.revents & libc::POLLIN == 0 {
            return;
        }
        // The number of the call comes first of ten words.
        let mut call = [0u64; 10];
        // SAFETY: the request writes 80 bytes; the answer is a structure that outlives the call.
        unsafe {
            if libc::ioctl(listener, NOTIF_RECV as _, call.as_mut_ptr()) == 0 {
                let response = Response { id: call[0], value: 0, error: 0, flags: CONTINUE };
                libc::ioctl(listener, NOTIF_SEND as _, &raw const response);
            }
        }
    }
}

/// A directory of the store with what an overlay needs, which goes with it.
struct Layer(PathBuf);

impl Layer {
    fn new(store: &Path) -> Result<Self> {
        let place = store.join(format!("floor.{}", std::process::id()));
        for part in ["", "upper", "work"] {
            fs::create_dir(place.join(part))?;
        }
        Ok(Self(place))
    }

    /// Lays it over a directory, for this process and what it executes.
    fn lay(&self, here: &Path) -> Result<()> {
        let (lower, place) = (here.display(), self.0.display());
        let options = format!("userxattr,volatile,lowerdir={lower},upperdir={place}/upper,workdir={place}/work");
        let (at, options) = (CString::new(here.as_os_str().as_bytes())?, CString::new(options)?);
        // SAFETY: all texts outlive the call.
        let mounted =
            unsafe { libc::mount(c"floor".as_ptr(), at.as_ptr(), c"overlay".as_ptr(), 0, options.as_ptr().cast()) };
        done(libc::c_long::from(mounted)).map(drop)
    }
}

impl Drop for Layer {
    fn drop(&mut self) {
        // The kernel makes its own directories without any rights.
        for own in ["work/work", "work/work/incompat", "work/work/incompat/volatile"] {
            let _ = fs::set_permissions(self.0.join(own), fs::Permissions::from_mode(0o700));
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Goes into namespaces of its own, as the same user.
fn go_apart() -> Result<()> {
    // SAFETY: no arguments.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: plain numbers.
    done(unsafe { libc::c_long::from(libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)) })?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

/// What is asked for beside the command.
struct Asked {
    heard: bool,
    apart: bool,
    layer: Option<PathBuf>,
    command: Vec<OsString>,
}

fn asked() -> Result<Asked> {
    let mut words = std::env::args_os().skip(1).peekable();
    let heard = words.next_if(|word| word == "--heard").is_some();
    let apart = words.next_if(|word| word == "--apart").is_some();
    let layer = words.next_if(|word| word == "--layer").and_then(|_| words.next()).map(PathBuf::from);
    let command: Vec<_> = words.collect();
    if command.is_empty() {
        Err(Error::other("say what to execute"))
    } else {
        Ok(Asked { heard, apart: apart || layer.is_some(), layer, command })
    }
}

fn execute(asked: &Asked, layer: Option<&Layer>, mut told: File) -> Result<Infallible> {
    let here = std::env::current_dir()?;
    if asked.apart {
        go_apart()?;
    }
    if let Some(layer) = layer {
        layer.lay(&here)?;
    }
    restrict(&here)?;
    if asked.heard {
        told.write_all(&be_heard()?.to_ne_bytes())?;
    } else {
        allow_everything()?;
    }
    Err(Command::new(&asked.command[0]).args(&asked.command[1..]).current_dir(here).exec())
}

/// A descriptor of another process, as our own.
fn theirs(pid: i32, number: RawFd) -> Result<OwnedFd> {
    // SAFETY: plain numbers; each result is a new descriptor.
    unsafe {
        let process = OwnedFd::from_raw_fd(done(libc::syscall(libc::SYS_pidfd_open, pid, 0))?);
        done(libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0)).map(|fd| OwnedFd::from_raw_fd(fd))
    }
}

fn main() -> Result<ExitCode> {
    let asked = asked()?;
    let layer = asked.layer.as_deref().map(Layer::new).transpose()?;
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors, which are nobody else's.
    let [mut told, tells] = unsafe {
        done(libc::c_long::from(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC)))?;
        ends.map(|fd| File::from_raw_fd(fd))
    };
    if !asked.heard && !asked.apart {
        return execute(&asked, None, tells).map(|never| match never {});
    }
    // SAFETY: we have one thread.
    let pid = done(libc::c_long::from(unsafe { libc::fork() }))?;
    if pid == 0 {
        let Err(failed) = execute(&asked, layer.as_ref(), tells);
        let _ = writeln!(std::io::stderr(), "{failed}");
        // SAFETY: ends the copy, which must not remove what is not its own.
        unsafe { libc::_exit(127) };
    }
    drop(tells);
    if asked.heard {
        let mut number = [0; 4];
        told.read_exact(&mut number)?;
        let listener = theirs(pid, RawFd::from_ne_bytes(number)).inspect_err(|_| {
            // It waits for an answer that nobody can give. SAFETY: plain numbers; it is our child, and not waited for yet.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        })?;
        say_yes(&listener);
    }
    let mut status = 0;
    // SAFETY: the status is valid for writing.
    done(libc::c_long::from(unsafe { libc::waitpid(pid, &raw mut status, 0) }))?;
    drop(layer);
    let code = if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) };
    Ok(ExitCode::from(code as u8))
}
