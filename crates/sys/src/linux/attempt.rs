//! What a hostile program would try, as calls that the attack suite can make.
//!
//! Nothing of polder uses this: the suite makes each call once without a sandbox, where it must work, and once inside,
//! where it must not. Everything is bounded, and what a call gives is given back or closed at once.

use super::call::{check, check_fd, check_int};
use super::wire::{Record, Tag};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// A path as the kernel wants it.
fn c(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_encoded_bytes())?)
}

/// How a forked copy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It returned this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
}

/// Runs `body` in a forked copy of this process, which must have one thread, and waits for its code.
pub fn in_copy(body: impl FnOnce() -> i32) -> io::Result<Ended> {
    // SAFETY: the caller has one thread, so the copy is whole.
    let pid = check_int(unsafe { libc::fork() })?;
    if pid == 0 {
        let code = body();
        // SAFETY: ends the copy without running anything of the original's.
        unsafe { libc::_exit(code) };
    }
    wait_for(pid)
}

fn wait_for(pid: i32) -> io::Result<Ended> {
    let mut status = 0;
    // SAFETY: `status` is valid for writing.
    check_int(unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) })?;
    Ok(if libc::WIFSIGNALED(status) {
        Ended::Signalled(libc::WTERMSIG(status))
    } else {
        Ended::Exited(libc::WEXITSTATUS(status))
    })
}

/// Forks `count` copies that wait for their end; says how many could be made and why no more, and ends them.
pub fn fork_many(count: usize) -> (usize, Option<io::Error>) {
    let mut pids = Vec::with_capacity(count);
    let mut error = None;
    for _ in 0..count {
        // SAFETY: the copy only pauses.
        match check_int(unsafe { libc::fork() }) {
            Ok(0) => loop {
                // SAFETY: no arguments.
                unsafe { libc::pause() };
            },
            Ok(pid) => pids.push(pid),
            Err(errno) => {
                error = Some(errno.into());
                break;
            }
        }
    }
    for pid in &pids {
        // SAFETY: plain numbers of our own children.
        unsafe { libc::kill(*pid, libc::SIGKILL) };
        let _ = wait_for(*pid);
    }
    (pids.len(), error)
}

/// Forks `count` copies that end at once and are not waited for; says how many could be made and why no more.
pub fn zombies(count: usize) -> (usize, Option<io::Error>) {
    for made in 0..count {
        // SAFETY: the copy ends at once.
        match check_int(unsafe { libc::fork() }) {
            // SAFETY: ends the copy.
            Ok(0) => unsafe { libc::_exit(0) },
            Ok(_) => {}
            Err(errno) => return (made, Some(errno.into())),
        }
    }
    (count, None)
}

/// Leaves a grandchild that ignores every request to end, in a session of its own, running `body`.
pub fn daemonise(body: impl FnOnce()) -> io::Result<()> {
    let ended = in_copy(|| {
        // SAFETY: no arguments; the copy has one thread.
        unsafe {
            libc::setsid();
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
            if libc::fork() != 0 {
                return 0;
            }
            for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE] {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
        body();
        0
    })?;
    if ended == Ended::Exited(0) { Ok(()) } else { Err(io::Error::other("the copy did not detach")) }
}

/// Ends this process after a while, whatever it waits for.
pub fn end_after(span: std::time::Duration) -> io::Result<()> {
    let zero = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let value = libc::timeval { tv_sec: span.as_secs() as _, tv_usec: span.subsec_micros().into() };
    let timer = libc::itimerval { it_interval: zero, it_value: value };
    // SAFETY: the timer outlives the call; the old one is not asked for.
    check_int(unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, ptr::null_mut()) })?;
    Ok(())
}

/// Makes this process the root of a user namespace of its own, with every capability in it. For controls that need
/// rights which the caller lacks.
pub fn become_namespace_root(more: i32) -> io::Result<()> {
    let (uid, gid) = super::wait::effective_ids();
    unshare(libc::CLONE_NEWUSER | more)?;
    std::fs::write("/proc/self/setgroups", "deny").or_else(ignore_missing)?;
    std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// A program that ends with the process that starts it, however that ends.
pub fn die_with_starter(command: &mut std::process::Command) -> &mut std::process::Command {
    use std::os::unix::process::CommandExt;
    let bind = || {
        // SAFETY: plain numbers, between fork and exec.
        check_int(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) })?;
        Ok(())
    };
    // SAFETY: the closure makes one call that is safe between fork and exec.
    unsafe { command.pre_exec(bind) }
}

/// Keeps a descriptor open over exec, as careless programs do.
pub fn keep_over_exec(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: plain numbers.
    check_int(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) })?;
    Ok(())
}

/// `unshare(2)`.
pub fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: a plain number.
    check_int(unsafe { libc::unshare(flags) })?;
    Ok(())
}

/// `clone(2)` with these flags; the child ends at once.
pub fn clone(flags: i32) -> io::Result<()> {
    let none = ptr::null::<libc::c_void>();
    // SAFETY: without a stack the child runs on a copy of ours, and it ends at once.
    let pid = check(unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, none, none, none, none) })?;
    finish_child(pid)
}

/// `clone3(2)` with these flags; the child ends at once.
pub fn clone3(flags: u64) -> io::Result<()> {
    let mut args = [0u64; 8];
    args[0] = flags;
    args[4] = libc::SIGCHLD as u64;
    // SAFETY: the first version of the structure is eight words; without a stack the child runs on a copy of ours.
    let pid = check(unsafe { libc::syscall(libc::SYS_clone3, args.as_ptr(), size_of_val(&args)) })?;
    finish_child(pid)
}

fn finish_child(pid: i64) -> io::Result<()> {
    if pid == 0 {
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    wait_for(pid as i32).map(drop)
}

/// `setns(2)`.
pub fn setns(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: plain numbers.
    check_int(unsafe { libc::setns(fd.as_raw_fd(), 0) })?;
    Ok(())
}

/// Mounts an empty tmpfs at a path with the old call.
pub fn mount_tmpfs(at: &Path) -> io::Result<()> {
    let at = c(at)?;
    let kind = c"tmpfs".as_ptr();
    // SAFETY: all texts outlive the call.
    check_int(unsafe { libc::mount(kind, at.as_ptr(), kind, 0, ptr::null()) })?;
    Ok(())
}

/// Binds a path on itself and makes that bind read-only.
pub fn bind_read_only(at: &Path) -> io::Result<()> {
    let at = c(at)?;
    let flags = libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY;
    // SAFETY: all texts outlive the calls.
    unsafe {
        check_int(libc::mount(at.as_ptr(), at.as_ptr(), ptr::null(), libc::MS_BIND, ptr::null()))?;
        check_int(libc::mount(ptr::null(), at.as_ptr(), ptr::null(), flags, ptr::null()))?;
    }
    Ok(())
}

/// Makes a bind writable again.
pub fn remount_writable(at: &Path) -> io::Result<()> {
    let at = c(at)?;
    let flags = libc::MS_BIND | libc::MS_REMOUNT;
    // SAFETY: all texts outlive the call.
    check_int(unsafe { libc::mount(ptr::null(), at.as_ptr(), ptr::null(), flags, ptr::null()) })?;
    Ok(())
}

/// Clears the read-only flag of a mount with the new call.
pub fn clear_read_only(at: &Path) -> io::Result<()> {
    let at = c(at)?;
    let attributes: [u64; 4] = [0, super::mount::RDONLY, 0, 0];
    // SAFETY: the path and the four words outlive the call.
    check(unsafe {
        let size = size_of_val(&attributes);
        libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, at.as_ptr(), 0, attributes.as_ptr(), size)
    })?;
    Ok(())
}

/// `umount2(2)`, detaching.
pub fn unmount(at: &Path) -> io::Result<()> {
    let at = c(at)?;
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::umount2(at.as_ptr(), libc::MNT_DETACH) })?;
    Ok(())
}

/// `pivot_root(".", ".")`.
pub fn pivot_root() -> io::Result<()> {
    // SAFETY: static texts.
    check(unsafe { libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) })?;
    Ok(())
}

/// `chroot(2)`.
pub fn chroot(at: &Path) -> io::Result<()> {
    let at = c(at)?;
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::chroot(at.as_ptr()) })?;
    Ok(())
}

/// A detached copy of the mounts at a path.
pub fn open_tree(at: &Path) -> io::Result<OwnedFd> {
    Ok(super::mount::clone_tree_at(&c(at)?)?)
}

/// A new, unattached tmpfs.
pub fn new_tmpfs() -> io::Result<OwnedFd> {
    Ok(super::mount::new_filesystem(c"tmpfs", &[], 0)?)
}

/// Attaches and detaches a debugger.
pub fn trace(pid: u32) -> io::Result<()> {
    let none = ptr::null_mut::<libc::c_void>();
    // SAFETY: plain numbers.
    check(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, none, none) })?;
    // SAFETY: as above; a tracee that does not stop is let go when we end.
    let _ = check(unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, none, none) });
    Ok(())
}

/// The bytes at an address of another process.
pub fn read_memory(pid: u32, address: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0u8; length];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: ptr::with_exposed_provenance_mut(address as usize), iov_len: length };
    // SAFETY: the local part is valid for its length; the kernel checks the remote one.
    let got =
        check(unsafe { libc::process_vm_readv(pid as i32, &raw const local, 1, &raw const remote, 1, 0) } as i64)?;
    bytes.truncate(got as usize);
    Ok(bytes)
}

/// The address of these bytes, for another process to read.
pub fn address_of(bytes: &'static [u8]) -> u64 {
    bytes.as_ptr().expose_provenance() as u64
}

/// `pidfd_open(2)`.
pub fn pidfd_open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers.
    Ok(check_fd(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?)
}

/// `pidfd_getfd(2)`: takes a descriptor out of another process.
pub fn pidfd_getfd(process: BorrowedFd<'_>, number: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers.
    Ok(check_fd(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) })?)
}

/// `kcmp(2)`: whether two processes share their memory.
pub fn compare(a: u32, b: u32) -> io::Result<()> {
    const KCMP_VM: i32 = 1;
    // SAFETY: plain numbers.
    check(unsafe { libc::syscall(libc::SYS_kcmp, a, b, KCMP_VM, 0, 0) })?;
    Ok(())
}

/// `kill(2)`.
pub fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: plain numbers.
    check_int(unsafe { libc::kill(pid, signal) })?;
    Ok(())
}

/// Lowers a limit of another process: both values.
pub fn limit_other(pid: u32, resource: u32, value: u64) -> io::Result<()> {
    let new = libc::rlimit64 { rlim_cur: value, rlim_max: value };
    let none = ptr::null_mut::<libc::rlimit64>();
    // SAFETY: `new` outlives the call.
    check(unsafe { libc::syscall(libc::SYS_prlimit64, pid, resource, &raw const new, none) })?;
    Ok(())
}

/// Raises both values of a limit of this process.
pub fn raise_own(resource: u32, value: u64) -> io::Result<()> {
    limit_other(0, resource, value)
}

/// Pins another process to the first CPU.
pub fn pin_other(pid: u32) -> io::Result<()> {
    let mask = 1u64;
    // SAFETY: the mask outlives the call.
    check(unsafe { libc::syscall(libc::SYS_sched_setaffinity, pid, 8, &raw const mask) })?;
    Ok(())
}

/// `io_uring_setup(2)` with one entry.
pub fn io_uring() -> io::Result<OwnedFd> {
    let mut params = [0u32; 30];
    // SAFETY: the structure is 120 bytes long and valid for writing.
    Ok(check_fd(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) })?)
}

/// `bpf(2)`: a small array map.
pub fn bpf() -> io::Result<OwnedFd> {
    const MAP_CREATE: i32 = 0;
    let mut attributes = [0u32; 18];
    // BPF_MAP_TYPE_ARRAY, 4-byte keys, 4-byte values, one entry.
    attributes[..4].copy_from_slice(&[2, 4, 4, 1]);
    // SAFETY: the attributes outlive the call.
    Ok(check_fd(unsafe { libc::syscall(libc::SYS_bpf, MAP_CREATE, attributes.as_ptr(), size_of_val(&attributes)) })?)
}

/// `perf_event_open(2)` on ourselves, user space only.
pub fn perf_event() -> io::Result<OwnedFd> {
    let mut attributes = [0u64; 16];
    // PERF_TYPE_SOFTWARE and the size; PERF_COUNT_SW_DUMMY; then disabled, and no kernel or hypervisor.
    attributes[0] = 1 | (128 << 32);
    attributes[1] = 9;
    attributes[5] = 1 | (1 << 5) | (1 << 6);
    // SAFETY: the attributes outlive the call.
    Ok(check_fd(unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0) })?)
}

/// `userfaultfd(2)`, user mode only where needed.
pub fn userfaultfd() -> io::Result<OwnedFd> {
    const USER_MODE_ONLY: i32 = 1;
    // SAFETY: plain numbers.
    Ok(check_fd(unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | USER_MODE_ONLY) })?)
}

/// Puts a key into the session keyring of the user.
pub fn add_key() -> io::Result<i64> {
    const USER_KEYRING: i32 = -4;
    let (kind, name) = (c"user".as_ptr(), c"polder-attack".as_ptr());
    // SAFETY: the texts and the value outlive the call.
    Ok(check(unsafe { libc::syscall(libc::SYS_add_key, kind, name, c"x".as_ptr(), 1, USER_KEYRING) })?)
}

/// Takes a key of ours away again.
pub fn revoke_key(key: i64) {
    const REVOKE: i32 = 3;
    // SAFETY: plain numbers.
    unsafe { libc::syscall(libc::SYS_keyctl, REVOKE, key, 0, 0, 0) };
}

/// The serial number of the session keyring.
pub fn session_keyring() -> io::Result<i64> {
    const GET_KEYRING_ID: i32 = 0;
    const SESSION: i32 = -3;
    // SAFETY: plain numbers.
    Ok(check(unsafe { libc::syscall(libc::SYS_keyctl, GET_KEYRING_ID, SESSION, 1, 0, 0) })?)
}

/// `socket(2)`.
pub fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers.
    Ok(check_fd(i64::from(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) }))?)
}

/// Makes a name for a socket at a path.
pub fn bind_unix(path: &Path) -> io::Result<OwnedFd> {
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    Ok(listener.into())
}

/// Types one character into a terminal.
pub fn type_into(terminal: BorrowedFd<'_>, request: u64) -> io::Result<()> {
    let byte = b'x';
    // SAFETY: the request reads one byte.
    check(unsafe { libc::syscall(libc::SYS_ioctl, terminal.as_raw_fd(), request, &raw const byte) })?;
    Ok(())
}

/// Makes this process the leader of a session with a new terminal; gives the other side.
pub fn take_terminal() -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: a static path; the requests read or take plain numbers.
    unsafe {
        let master = check_fd(i64::from(libc::open(c"/dev/ptmx".as_ptr(), flags)))?;
        let unlock: libc::c_int = 0;
        check_int(libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK as _, &raw const unlock))?;
        let slave = check_fd(i64::from(libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER as _, flags)))?;
        check_int(libc::setsid())?;
        check_int(libc::ioctl(slave.as_raw_fd(), libc::TIOCSCTTY as _, 0))?;
        Ok(master)
    }
}

/// Opens with these flags and this mode, by the old call.
pub fn open(path: &Path, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    let path = c(path)?;
    // SAFETY: the path outlives the call.
    Ok(check_fd(unsafe {
        libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags | libc::O_CLOEXEC, mode)
    })?)
}

/// Opens below a directory descriptor.
pub fn open_at(dir: BorrowedFd<'_>, name: &Path, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    let name = c(name)?;
    // SAFETY: the name outlives the call.
    Ok(check_fd(unsafe {
        libc::syscall(libc::SYS_openat, dir.as_raw_fd(), name.as_ptr(), flags | libc::O_CLOEXEC, mode)
    })?)
}

/// Passes a descriptor over a connected unix socket.
pub fn pass_descriptor(socket: BorrowedFd<'_>, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    Ok(super::wire::send(socket, &Record::new(Tag::Ready), &[descriptor.as_raw_fd()])?)
}

/// Takes a descriptor from a connected unix socket.
pub fn take_descriptor(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut taken = [None];
    super::wire::receive(socket, &mut taken)?;
    taken[0].take().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Changes a mode below a directory descriptor.
pub fn chmod_at(dir: BorrowedFd<'_>, name: &Path, mode: u32) -> io::Result<()> {
    let name = c(name)?;
    // SAFETY: the name outlives the call.
    check_int(unsafe { libc::fchmodat(dir.as_raw_fd(), name.as_ptr(), mode, 0) })?;
    Ok(())
}

/// Opens with `openat2(2)`.
pub fn open2(path: &Path, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    let path = c(path)?;
    let how: [u64; 3] = [(flags | libc::O_CLOEXEC) as u64, u64::from(mode), 0];
    // SAFETY: the path and the three words outlive the call.
    Ok(check_fd(unsafe {
        libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path.as_ptr(), how.as_ptr(), size_of_val(&how))
    })?)
}

/// Makes a directory below a directory descriptor.
pub fn mkdir_at(dir: BorrowedFd<'_>, name: &Path) -> io::Result<()> {
    let name = c(name)?;
    // SAFETY: the name outlives the call.
    check_int(unsafe { libc::mkdirat(dir.as_raw_fd(), name.as_ptr(), 0o755) })?;
    Ok(())
}

/// `renameat2(2)` with flags.
pub fn rename(from: &Path, to: &Path, flags: u32) -> io::Result<()> {
    let (from, to) = (c(from)?, c(to)?);
    let cwd = libc::AT_FDCWD;
    // SAFETY: both paths outlive the call.
    check(unsafe { libc::syscall(libc::SYS_renameat2, cwd, from.as_ptr(), cwd, to.as_ptr(), flags) })?;
    Ok(())
}

/// Swap two names.
pub const EXCHANGE: u32 = 2;

/// Gives an open file without a name this one.
pub fn link_descriptor(file: BorrowedFd<'_>, to: &Path) -> io::Result<()> {
    let from = c(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))?;
    let to = c(to)?;
    let (cwd, flags) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    // SAFETY: both paths outlive the call.
    check_int(unsafe { libc::linkat(cwd, from.as_ptr(), cwd, to.as_ptr(), flags) })?;
    Ok(())
}

/// The same by the descriptor alone.
pub fn link_empty_path(file: BorrowedFd<'_>, to: &Path) -> io::Result<()> {
    let to = c(to)?;
    let flags = libc::AT_EMPTY_PATH;
    // SAFETY: both paths outlive the call.
    check_int(unsafe { libc::linkat(file.as_raw_fd(), c"".as_ptr(), libc::AT_FDCWD, to.as_ptr(), flags) })?;
    Ok(())
}

/// `mknod(2)`.
pub fn mknod(path: &Path, mode: u32, device: u64) -> io::Result<()> {
    let path = c(path)?;
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::mknod(path.as_ptr(), mode, device) })?;
    Ok(())
}

/// `chmod(2)`.
pub fn chmod(path: &Path, mode: u32) -> io::Result<()> {
    let path = c(path)?;
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::chmod(path.as_ptr(), mode) })?;
    Ok(())
}

/// `fchmodat2(2)`, the newest spelling of it.
pub fn chmod2(path: &Path, mode: u32) -> io::Result<()> {
    const SYS_FCHMODAT2: i64 = 452;
    let path = c(path)?;
    // SAFETY: the path outlives the call.
    check(unsafe { libc::syscall(SYS_FCHMODAT2, libc::AT_FDCWD, path.as_ptr(), mode, 0) })?;
    Ok(())
}

/// Sets an extended attribute.
pub fn set_attribute(path: &Path, name: &CStr, value: &[u8]) -> io::Result<()> {
    let path = c(path)?;
    // SAFETY: the texts and the value outlive the call.
    check_int(unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) })?;
    Ok(())
}

/// Opens a file by its handle instead of its name, from any directory of the same file system.
pub fn open_by_handle(path: &Path) -> io::Result<OwnedFd> {
    let text = c(path)?;
    // A header of two words and at most 128 bytes.
    let mut handle = [0u32; 34];
    handle[0] = 128;
    let mut mount = 0i32;
    // SAFETY: the handle has the room that its header names.
    check(unsafe {
        let (cwd, handle) = (libc::AT_FDCWD, handle.as_mut_ptr());
        libc::syscall(libc::SYS_name_to_handle_at, cwd, text.as_ptr(), handle, &raw mut mount, 0)
    })?;
    let base = std::fs::File::open(path.parent().unwrap_or(path))?;
    // SAFETY: the handle is the one that the kernel just filled.
    Ok(check_fd(unsafe {
        libc::syscall(libc::SYS_open_by_handle_at, base.as_raw_fd(), handle.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC)
    })?)
}

/// `name_to_handle_at(2)` alone: the half that needs no privilege.
pub fn name_to_handle(path: &Path) -> io::Result<()> {
    let text = c(path)?;
    let mut handle = [0u32; 34];
    handle[0] = 128;
    let mut mount = 0i32;
    // SAFETY: the handle has the room that its header names.
    check(unsafe {
        let (cwd, handle) = (libc::AT_FDCWD, handle.as_mut_ptr());
        libc::syscall(libc::SYS_name_to_handle_at, cwd, text.as_ptr(), handle, &raw mut mount, 0)
    })?;
    Ok(())
}

/// `personality(2)`.
pub fn personality(value: u64) -> io::Result<()> {
    // SAFETY: a plain number.
    check(unsafe { libc::syscall(libc::SYS_personality, value) })?;
    Ok(())
}

/// Installs a filter that allows everything and asks for its listener.
pub fn seccomp_listener() -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Program {
        len: u16,
        code: *const u64,
    }
    // One instruction: return SECCOMP_RET_ALLOW.
    let code = [0x7fff_0000_0000_0006u64];
    let program = Program { len: 1, code: code.as_ptr() };
    super::creds::gain_nothing_by_exec()?;
    // SAFETY: the program and its code outlive the call.
    Ok(check_fd(unsafe { libc::syscall(libc::SYS_seccomp, 1, 1 << 3, &raw const program) })?)
}

/// Restricts this process by a Landlock domain in which no name can be made or removed anywhere.
pub fn forbid_names() -> io::Result<()> {
    // The rights to make and remove directory entries, bits 4 to 12 of ABI 1; see landlock(7).
    let handled: u64 = 0x1ff0;
    super::creds::gain_nothing_by_exec()?;
    let size = size_of::<u64>();
    // SAFETY: the attributes are `size` bytes long and outlive the call.
    let ruleset = check_fd(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const handled, size, 0) })?;
    // SAFETY: plain numbers and a descriptor that we own.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) })?;
    Ok(())
}

/// Makes a directory in a copy whose filter asks a tracer about it; the tracer ends the copy when it is asked.
/// Says whether the tracer was passed by.
pub fn make_behind_tracer(path: &Path) -> io::Result<bool> {
    /// `mkdirat` is traced and everything else allowed: load the number, compare, two returns.
    const FILTER: [[u64; 1]; 4] = [
        [0x20],
        [0x15 | 1 << 24 | (libc::SYS_mkdirat as u64) << 32],
        [0x06 | 0x7ff0_0000 << 32],
        [0x06 | 0x7fff_0000 << 32],
    ];
    #[repr(C)]
    struct Program {
        len: u16,
        code: *const [u64; 1],
    }
    let path = c(path)?;
    let program = Program { len: FILTER.len() as u16, code: FILTER.as_ptr() };
    // SAFETY: the caller has one thread, so the copy is whole.
    let pid = check_int(unsafe { libc::fork() })?;
    if pid == 0 {
        // SAFETY: plain numbers, and a program and a path that outlive the calls; the copy ends here.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
            libc::raise(libc::SIGSTOP);
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            if libc::syscall(libc::SYS_seccomp, 1, 0, &raw const program) != 0 {
                libc::_exit(2);
            }
            libc::_exit(i32::from(libc::mkdirat(libc::AT_FDCWD, path.as_ptr(), 0o755) != 0));
        }
    }
    let supervise = || -> io::Result<bool> {
        let mut status = 0;
        // SAFETY: `status` is valid for writing; the requests take plain numbers.
        unsafe {
            check_int(libc::waitpid(pid, &raw mut status, 0))?;
            check(libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, libc::PTRACE_O_TRACESECCOMP) as i64)?;
            check(libc::ptrace(libc::PTRACE_CONT, pid, 0, 0) as i64)?;
            check_int(libc::waitpid(pid, &raw mut status, 0))?;
        }
        Ok(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0)
    };
    let passed = supervise();
    // SAFETY: plain numbers; the copy is ours and has ended or is ended here.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, ptr::null_mut(), 0);
    }
    passed
}

/// Sets the soft limit of core files of this process to 0, by both calls, and gives the limit that holds then.
pub fn lower_core_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` outlives the calls and is valid for writing.
    unsafe {
        check_int(libc::getrlimit64(libc::RLIMIT_CORE, &raw mut limit))?;
        let zero = libc::rlimit64 { rlim_cur: 0, ..limit };
        let none = ptr::null_mut::<libc::rlimit64>();
        libc::syscall(libc::SYS_setrlimit, libc::RLIMIT_CORE, &raw const zero);
        libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_CORE, &raw const zero, none);
        // An address whose lower half is zero looks like none to a filter that reads 32 bits.
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let far = libc::mmap(ptr::without_provenance_mut(0x7_0000_0000), 4096, access, flags, -1, 0);
        if far != libc::MAP_FAILED {
            far.cast::<libc::rlimit64>().write(zero);
            libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_CORE, far, none);
            libc::munmap(far, 4096);
        }
        check_int(libc::getrlimit64(libc::RLIMIT_CORE, &raw mut limit))?;
    }
    Ok(limit.rlim_cur)
}

/// `setpriority(2)` for every process of this user that is in view.
pub fn renice_user(value: i32) -> io::Result<()> {
    // SAFETY: plain numbers.
    check(unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_USER, 0, value) })?;
    Ok(())
}

/// `ioprio_set(2)` to the idle class for every process of this user that is in view.
pub fn idle_user() -> io::Result<()> {
    const WHO_USER: i32 = 3;
    const CLASS_IDLE: i32 = 3 << 13;
    let (uid, _) = super::wait::effective_ids();
    // SAFETY: plain numbers.
    check(unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_USER, uid, CLASS_IDLE) })?;
    Ok(())
}

/// `socket(2)` with all 64 bits of the arguments as they are.
pub fn socket_raw(family: u64, kind: u64, protocol: u64) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers.
    Ok(check_fd(unsafe { libc::syscall(libc::SYS_socket, family, kind, protocol) })?)
}

/// `ioctl(2)` on a socket with 64 zero bytes.
pub fn ask_socket(socket: BorrowedFd<'_>, request: u64) -> io::Result<()> {
    let mut memory = [0u64; 64];
    // SAFETY: none of the requests that are tried here reads or writes more than the memory holds.
    check(unsafe { libc::syscall(libc::SYS_ioctl, socket.as_raw_fd(), request, memory.as_mut_ptr()) })?;
    Ok(())
}

/// `fcntl(2)` with plain numbers.
pub fn control(file: BorrowedFd<'_>, command: i32, value: i64) -> io::Result<()> {
    // SAFETY: plain numbers; the signal that tells of an event must not end us.
    unsafe {
        libc::signal(libc::SIGIO, libc::SIG_IGN);
        check(libc::syscall(libc::SYS_fcntl, file.as_raw_fd(), command, value))?;
    }
    Ok(())
}

/// Sends bytes into a socket whose number was found.
pub fn send_raw(number: i32, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the buffer is valid for its length; a number that is no socket is an error.
    check(unsafe { libc::send(number, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) } as i64)?;
    Ok(())
}

/// `inotify_add_watch(2)` on a path.
pub fn watch(path: &Path) -> io::Result<OwnedFd> {
    let path = c(path)?;
    // SAFETY: plain numbers, then a path that outlives the call.
    let queue = check_fd(i64::from(unsafe { libc::inotify_init1(libc::IN_CLOEXEC) }))?;
    // SAFETY: as above.
    check_int(unsafe { libc::inotify_add_watch(queue.as_raw_fd(), path.as_ptr(), libc::IN_OPEN) })?;
    Ok(queue)
}

/// `inotify_init1(2)`.
pub fn inotify() -> io::Result<OwnedFd> {
    // SAFETY: a plain number.
    Ok(check_fd(i64::from(unsafe { libc::inotify_init1(libc::IN_CLOEXEC) }))?)
}

/// `truncate(2)`.
pub fn truncate(path: &Path, length: i64) -> io::Result<()> {
    let path = c(path)?;
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::truncate(path.as_ptr(), length) })?;
    Ok(())
}

/// The errno of a call with these arguments, 0 if it worked. Only for calls that take numbers, or null for a pointer.
pub fn errno_of(number: i64, [a, b, c, d]: [u64; 4]) -> i32 {
    // SAFETY: plain numbers; the kernel refuses an address that is not ours.
    match check(unsafe { libc::syscall(number, a, b, c, d, 0, 0) }) {
        Ok(_) => 0,
        Err(errno) => errno.0,
    }
}

/// The errno of a call that a filter of our own hands to a tracer that is not there: ENOSYS, see seccomp(2), unless a
/// filter that was installed before refuses it, because an error comes before a tracer. The call never happens.
pub fn answer_before_tracer(number: i64, arguments: [u64; 4]) -> io::Result<i32> {
    #[repr(C)]
    struct Program {
        len: u16,
        code: *const [u32; 2],
    }
    // Load the number; if it is this one skip a line to SECCOMP_RET_TRACE, else SECCOMP_RET_ALLOW.
    let code = [[0x20, 0], [0x0001_0015, number as u32], [0x06, 0x7fff_0000], [0x06, 0x7ff0_0000]];
    let program = Program { len: code.len() as u16, code: code.as_ptr() };
    let ended = in_copy(|| {
        // SAFETY: the option takes plain numbers; the program and its code outlive the call.
        let installed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::syscall(libc::SYS_seccomp, 1, 0, &raw const program) == 0
        };
        if installed { errno_of(number, arguments) } else { NOT_INSTALLED }
    })?;
    match ended {
        Ended::Exited(NOT_INSTALLED) => Err(io::Error::other("the filter could not be installed")),
        Ended::Exited(errno) => Ok(errno),
        Ended::Signalled(signal) => Err(io::Error::other(format!("ended by signal {signal}"))),
    }
}

/// No errno has this number.
const NOT_INSTALLED: i32 = 255;

/// Executes a file below a directory in a copy of this process; succeeds if it could be executed.
pub fn execute_at(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    let ended = in_copy(|| {
        let none = [ptr::null::<libc::c_char>()];
        let argv = [name.as_ptr(), ptr::null()];
        // SAFETY: name and lists outlive the call, and the lists end in null.
        let answer = unsafe {
            libc::syscall(libc::SYS_execveat, dir.as_raw_fd(), name.as_ptr(), argv.as_ptr(), none.as_ptr(), 0)
        };
        check(answer).err().map_or(0, |errno| errno.0)
    })?;
    match ended {
        Ended::Exited(0) => Ok(()),
        Ended::Exited(errno) => Err(io::Error::from_raw_os_error(errno)),
        Ended::Signalled(signal) => Err(io::Error::other(format!("ended by signal {signal}"))),
    }
}

/// Takes this process to a mount namespace of its own in which all mounts are shared, as on most machines.
pub fn share_mounts() -> io::Result<()> {
    let none = ptr::null();
    // SAFETY: a plain number, then a change of propagation, which reads the target path only.
    unsafe {
        check_int(libc::unshare(libc::CLONE_NEWNS))?;
        check_int(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_SHARED, none.cast()))?;
    }
    Ok(())
}

/// Takes one supplementary group, instead of all.
pub fn join_group(group: u32) -> io::Result<()> {
    // SAFETY: the list has one element and outlives the call.
    check_int(unsafe { libc::setgroups(1, &raw const group) })?;
    Ok(())
}

/// `fanotify_init(2)`.
pub fn fanotify() -> io::Result<OwnedFd> {
    const REPORT_FID: u32 = 0x200;
    // SAFETY: plain numbers.
    Ok(check_fd(i64::from(unsafe { libc::fanotify_init(REPORT_FID, 0) }))?)
}

/// The kernel's log.
pub fn kernel_log() -> io::Result<()> {
    const READ_ALL: i32 = 3;
    let mut text = [0u8; 64];
    // SAFETY: the buffer is valid for its length.
    check(unsafe { libc::syscall(libc::SYS_syslog, READ_ALL, text.as_mut_ptr(), text.len()) })?;
    Ok(())
}

/// Asks for direct access to the machine's ports.
pub fn ports() -> io::Result<()> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: plain numbers.
    check(unsafe { libc::syscall(libc::SYS_iopl, 3) })?;
    Ok(())
}

/// `sethostname(2)`.
pub fn set_hostname(name: &CStr) -> io::Result<()> {
    // SAFETY: the name is valid for its length.
    check_int(unsafe { libc::sethostname(name.as_ptr(), name.count_bytes()) })?;
    Ok(())
}

/// A segment of shared memory by its key: makes it if `size` is not zero, else finds it.
pub fn shared_memory(key: i32, size: usize) -> io::Result<i32> {
    let flags = 0o600 | if size > 0 { libc::IPC_CREAT | libc::IPC_EXCL } else { 0 };
    // SAFETY: plain numbers.
    Ok(check_int(unsafe { libc::shmget(key, size, flags) })?)
}

/// Removes a segment.
pub fn remove_shared_memory(id: i32) {
    // SAFETY: this request takes no structure.
    unsafe { libc::shmctl(id, libc::IPC_RMID, ptr::null_mut()) };
}

/// A POSIX message queue; made if `create`.
pub fn message_queue(name: &CStr, create: Create) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_CLOEXEC | if create == Create::Yes { libc::O_CREAT | libc::O_EXCL } else { 0 };
    // SAFETY: the name outlives the call; no attributes.
    Ok(check_fd(unsafe { libc::syscall(libc::SYS_mq_open, name.as_ptr(), flags, 0o600, ptr::null::<u8>()) })?)
}

/// Whether something is made when it is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// It is, and must be missing.
    Yes,
    /// It must be there.
    No,
}

/// Removes a POSIX message queue.
pub fn remove_message_queue(name: &CStr) {
    // SAFETY: the name outlives the call.
    unsafe { libc::syscall(libc::SYS_mq_unlink, name.as_ptr()) };
}

/// Touches this many bytes of fresh memory and gives them back.
pub fn use_memory(bytes: usize) -> io::Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    // SAFETY: a new mapping that nobody else knows, unmapped again.
    unsafe {
        let place = libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        for page in (0..bytes).step_by(4096) {
            place.cast::<u8>().add(page).write_volatile(1);
        }
        libc::munmap(place, bytes);
    }
    Ok(())
}

/// Makes a system call by the 32-bit entrance; the answer is the kernel's, negative for an error.
#[cfg(target_arch = "x86_64")]
pub fn int80(number: i32, a: i32, b: i32, c: i32) -> i32 {
    let mut answer = number;
    // SAFETY: the entrance changes no memory of ours with these plain numbers; the registers it uses are named.
    unsafe {
        std::arch::asm!(
            "xchg rbx, {first:r}",
            "int 0x80",
            "xchg rbx, {first:r}",
            first = inout(reg) i64::from(a) => _,
            inout("eax") answer,
            in("ecx") b,
            in("edx") c,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    answer
}

/// There is no 32-bit entrance.
#[cfg(not(target_arch = "x86_64"))]
pub fn int80(_: i32, _: i32, _: i32, _: i32) -> i32 {
    -libc::ENOSYS
}

/// `getpid` by its number of the x32 interface.
pub fn x32_getpid() -> io::Result<i64> {
    // SAFETY: no arguments.
    Ok(check(unsafe { libc::syscall(0x4000_0000 | libc::SYS_getpid) })?)
}

/// Opens a path in memory with `O_CREAT` `rounds` times while another thread writes the second path over the first and
/// back. Both must have the same length. `between` runs after each round and may end the race by saying so.
pub fn race(first: &Path, second: &Path, rounds: usize, between: &mut dyn FnMut() -> bool) -> io::Result<bool> {
    let (one, two) = (c(first)?.into_bytes_with_nul(), c(second)?.into_bytes_with_nul());
    if one.len() != two.len() {
        return Err(io::Error::other("the two paths differ in length"));
    }
    let mut text = one.clone();
    let shared = Shared(text.as_mut_ptr());
    let (stop, turning) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (stop, turning, one, two) = (&stop, &turning, &one, &two);
        scope.spawn(move || {
            let shared = &shared;
            while !stop.load(Ordering::Relaxed) {
                for source in [two, one] {
                    for (index, byte) in source.iter().enumerate() {
                        // SAFETY: the buffer outlives the scope, and only this thread writes it; the kernel's readers
                        // are meant to see it change.
                        unsafe { shared.0.add(index).write_volatile(*byte) };
                    }
                    std::hint::spin_loop();
                }
                turning.store(true, Ordering::Relaxed);
            }
        });
        // Rounds before the other thread runs would show nothing.
        while !turning.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let mut won = false;
        for _ in 0..rounds {
            let path = shared.0.cast::<libc::c_char>().cast_const();
            // SAFETY: the text always ends in NUL at the same place; what the call finds in it is what is tried here.
            unsafe {
                let fd = libc::open(path, libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC, 0o644);
                if fd >= 0 {
                    libc::close(fd);
                }
            }
            if between() {
                won = true;
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        Ok(won)
    })
}

/// A buffer that two threads use on purpose.
#[derive(Clone, Copy)]
struct Shared(*mut u8);

// SAFETY: the pointer is only used inside a scope that the buffer outlives.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}
