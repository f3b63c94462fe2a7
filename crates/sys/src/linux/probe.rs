//! Finding out what this machine offers by trying it: each probe makes the thing, uses it and lets it go.
//!
//! A probe never answers from a version number. What it finds is kept for seconds only, and a stale answer cannot
//! weaken anything: the launch does every step again, and a step that fails ends it.

use super::call::{Errno, check, check_int};
use super::child::Line;
use super::facts::{RANGE_BASE, RANGE_IDS};
use super::filter::{self, Rule, Verdict};
use super::launched::{Child, NAMESPACES, clone_into};
use super::{cgroup, creds, landlock, mount, net, seccomp, wait};
use polder_facts::{CgroupFacts, CgroupVersion, Mechanism, Probe};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

/// What the machine offers to this caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Every mechanism that was tried.
    pub mechanisms: BTreeMap<Mechanism, Probe>,
    /// The Landlock ABI; zero where there is none.
    pub landlock_abi: u32,
    /// Where cgroups can be made.
    pub cgroup: Option<CgroupFacts>,
}

/// Tries everything. `workspace` is where id-mapped mounts are tried, since file systems differ.
pub fn machine(workspace: &Path) -> Machine {
    let cgroup = cgroup::find();
    let abi = landlock_enforces();
    let mechanisms = BTreeMap::from([
        (Mechanism::Namespaces, namespaces()),
        (Mechanism::NetworkNamespace, network_namespace()),
        (Mechanism::MountRoot, mount_root()),
        (Mechanism::IdmappedMounts, idmapped_mounts(workspace)),
        (Mechanism::Overlay, overlay()),
        (
            Mechanism::Landlock,
            match &abi {
                Ok(abi) => works(format!("ABI {abi}")),
                Err(error) => fails(
                    format!("a restricted child was not restricted: {error}"),
                    "boot with `landlock` in the lsm= list of a kernel of 5.13 or newer",
                ),
            },
        ),
        (Mechanism::Seccomp, seccomp_filter()),
        (Mechanism::ProcessRlimit, process_rlimit()),
        (Mechanism::CgroupMemory, controller(&cgroup, "memory", |facts| facts.memory.is_some())),
        (Mechanism::CgroupPids, controller(&cgroup, "pids", |facts| facts.pids.is_some())),
        (Mechanism::CgroupCpu, controller(&cgroup, "cpu", |facts| facts.cpu.is_some())),
    ]);
    Machine { mechanisms, landlock_abi: abi.unwrap_or(0), cgroup }
}

fn works(detail: impl Into<String>) -> Probe {
    Probe::Works { detail: detail.into() }
}

fn fails(reason: impl Into<String>, remedy: impl Into<String>) -> Probe {
    Probe::Fails { reason: reason.into(), remedy: remedy.into() }
}

/// Runs a trial in a child and gives its error, if it had one. Exit codes carry errno, which fits.
fn trial(namespaces: u64, body: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    let mut child = clone_into(namespaces, None, || {
        let code = match body() {
            Ok(()) => 0,
            Err(errno) => errno.0.clamp(1, 254),
        };
        // SAFETY: ends the child without running anything of the caller's.
        unsafe { libc::_exit(code) }
    })?;
    code_of(&mut child)
}

fn code_of(child: &mut Child) -> Result<(), Errno> {
    match child.reap() {
        0 => Ok(()),
        code => Err(Errno(code)),
    }
}

/// What to do when the kernel does not give us namespaces: the first cause that can be seen wins.
pub fn namespace_remedy() -> String {
    let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    if read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
        return "AppArmor keeps user namespaces from programs without a profile: \
                `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, or install polder's profile"
            .to_owned();
    }
    if read("/proc/sys/kernel/unprivileged_userns_clone") == "0" {
        return "user namespaces are switched off: `sudo sysctl -w kernel.unprivileged_userns_clone=1`".to_owned();
    }
    if read("/proc/sys/user/max_user_namespaces") == "0" {
        return "the number of user namespaces is limited to 0: `sudo sysctl -w user.max_user_namespaces=15000`; \
                inside a polder sandbox there is no further one"
            .to_owned();
    }
    if Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists() {
        return "this is a container: start it with `--security-opt seccomp=unconfined --security-opt \
                systempaths=unconfined --cap-add SYS_ADMIN`, or run polder on the host"
            .to_owned();
    }
    "the kernel or a security module refuses user namespaces; `polder doctor` shows which part fails".to_owned()
}

/// A trial by the identity that a command has inside: oneself, or for root the first of the range.
fn trial_inside(namespaces: u64, body: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    let (uid, gid) = wait::effective_ids();
    if uid != 0 {
        return trial(namespaces, || {
            let mut line = Line::new();
            creds::write_file(c"/proc/self/setgroups", b"deny")?;
            creds::write_file(c"/proc/self/uid_map", line.map(uid, uid, 1))?;
            creds::write_file(c"/proc/self/gid_map", line.map(gid, gid, 1))?;
            body()
        });
    }
    let (mut child, ours) = waiting_child(namespaces, || creds::become_user(0, 0).and_then(|()| body()))?;
    write_range(child.pid)?;
    creds::write_once(ours.as_raw_fd(), b"!")?;
    code_of(&mut child)
}

/// A child that goes on when it is told to, and ends when its caller is gone.
fn waiting_child(namespaces: u64, body: impl FnOnce() -> Result<(), Errno>) -> Result<(Child, OwnedFd), Errno> {
    let (ours, theirs) = super::launched::socket_pair()?;
    let child = clone_into(namespaces, None, || {
        close_others(theirs.as_raw_fd());
        let code = await_byte(theirs.as_raw_fd()).and_then(|()| body()).err();
        // SAFETY: ends the child without running anything of the caller's.
        unsafe { libc::_exit(code.map_or(0, |errno| errno.0.clamp(1, 254))) }
    })?;
    Ok((child, ours))
}

/// Closes every descriptor but this one and the standard ones. A child that holds the caller's end, or
/// that of another trial, would wait for ever once the caller was killed.
fn close_others(own: i32) {
    let own = own as libc::c_uint;
    // SAFETY: plain numbers.
    unsafe {
        if own > 3 {
            libc::syscall(libc::SYS_close_range, 3, own - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, own.max(2) + 1, libc::c_uint::MAX, 0);
    }
}

fn await_byte(fd: i32) -> Result<(), Errno> {
    let mut byte = 0u8;
    // SAFETY: one byte of room.
    match check(unsafe { libc::read(fd, (&raw mut byte).cast(), 1) } as i64)? {
        0 => Err(Errno(libc::EPIPE)),
        _ => Ok(()),
    }
}

fn write_range(pid: i32) -> Result<(), Errno> {
    let mut line = Line::new();
    for map in ["uid_map", "gid_map"] {
        let path = format!("/proc/{pid}/{map}");
        let answer = std::fs::write(path, line.map(0, RANGE_BASE, RANGE_IDS));
        answer.map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EIO)))?;
    }
    Ok(())
}

fn namespaces() -> Probe {
    match trial_inside(NAMESPACES, || Ok(())) {
        Ok(()) => works("user, mount, pid, ipc, uts"),
        Err(errno) => fails(format!("clone3 or the maps: {errno}"), namespace_remedy()),
    }
}

fn network_namespace() -> Probe {
    match trial_inside(NAMESPACES | libc::CLONE_NEWNET as u64, net::loopback_up) {
        Ok(()) => works("loopback up"),
        Err(errno) => fails(format!("network namespace: {errno}"), namespace_remedy()),
    }
}

fn mount_root() -> Probe {
    let body = || {
        mount::make_private()?;
        let root = mount::new_filesystem(c"tmpfs", &[(c"mode", c"0755")], mount::NOSUID | mount::NODEV)?;
        mount::attach_at(root.as_fd(), c"/")?;
        // SAFETY: the descriptor is ours, the paths are static strings.
        unsafe {
            check_int(libc::fchdir(root.as_raw_fd()))?;
            check_int(libc::mkdir(c"proc".as_ptr(), 0o755))?;
            check_int(libc::mkdir(c"usr".as_ptr(), 0o755))?;
        }
        let proc = mount::new_filesystem(c"proc", &[(c"hidepid", c"ptraceable")], mount::NOSUID)?;
        mount::attach_at(proc.as_fd(), c"proc")?;
        let usr = mount::clone_tree_at(c"/usr")?;
        mount::restrict_tree(usr.as_fd(), mount::RDONLY | mount::NOSUID | mount::NODEV)?;
        mount::attach_at(usr.as_fd(), c"usr")?;
        mount::become_root()
    };
    match trial_inside(NAMESPACES, body) {
        Ok(()) => works("tmpfs root, own /proc"),
        Err(errno) if errno.0 == libc::EPERM => fails(
            format!("mounting: {errno}"),
            "a container covers parts of /proc: start it with `--security-opt systempaths=unconfined`; \
             or a security module forbids mounts to user namespaces",
        ),
        Err(errno) => fails(format!("mounting: {errno}"), "a kernel of 5.12 or newer is needed"),
    }
}

/// A layer over another one, made as a sandbox makes it, and a change that stays in it.
fn overlay() -> Probe {
    let body = || {
        mount::make_private()?;
        let root = mount::new_filesystem(c"tmpfs", &[(c"mode", c"0755")], mount::NOSUID | mount::NODEV)?;
        mount::attach_at(root.as_fd(), c"/")?;
        // SAFETY: the descriptor is ours, the paths are static strings.
        unsafe {
            check_int(libc::fchdir(root.as_raw_fd()))?;
            for directory in [c"lower", c"lower/gone", c"upper", c"work", c"shown"] {
                check_int(libc::mkdir(directory.as_ptr(), 0o755))?;
            }
        }
        let layers = mount::overlay(c"lower", c"upper", c"work", mount::NOSUID | mount::NODEV)?;
        mount::attach_at(layers.as_fd(), c"shown")?;
        // SAFETY: the paths are static strings.
        unsafe {
            check_int(libc::rmdir(c"shown/gone".as_ptr()))?;
            check_int(libc::access(c"lower/gone".as_ptr(), libc::F_OK)).map(drop)
        }
    };
    match trial_inside(NAMESPACES, body) {
        Ok(()) => works("a change stayed in its layer"),
        Err(errno) => fails(
            format!("overlay in a user namespace: {errno}"),
            "a kernel of 5.12 or newer with overlayfs is needed (`modprobe overlay`); with mode `direct` none is",
        ),
    }
}

/// Root is mapped to a range, and files keep their owners only through id-mapped mounts.
fn idmapped_mounts(workspace: &Path) -> Probe {
    let (uid, _) = wait::effective_ids();
    if uid != 0 {
        return Probe::NotNeeded { reason: "an ordinary user is mapped to itself".to_owned() };
    }
    let body = || -> std::io::Result<()> {
        let (read, write) = wait::pipe()?;
        let mut holder = clone_into(libc::CLONE_NEWUSER as u64, None, || {
            // Holds the namespace open until the parent says so, or is gone and has closed its end.
            let mut byte = 0u8;
            close_others(read.as_raw_fd());
            // SAFETY: one byte of room.
            unsafe {
                libc::read(read.as_raw_fd(), (&raw mut byte).cast(), 1);
            }
        })?;
        write_range(holder.pid)?;
        let userns = std::fs::File::open(format!("/proc/{}/ns/user", holder.pid))?;
        let path = std::ffi::CString::new(workspace.as_os_str().as_encoded_bytes())?;
        // The answer is remembered for the whole file system, so what is mounted below this directory must not matter.
        let tree = mount::clone_mount_at(&path)?;
        let answer = mount::idmap_tree(tree.as_fd(), userns.as_fd(), 0);
        // Closing is not enough: another thread's child may have been copied with the writing end open, and wait for us.
        creds::write_once(write.as_raw_fd(), b"!")?;
        drop(write);
        holder.reap();
        Ok(answer?)
    };
    match body() {
        Ok(()) => works("root becomes an unprivileged range"),
        Err(error) => fails(
            format!("id-mapped mount of `{}`: {error}", workspace.display()),
            "run polder as an ordinary user, or keep the workspace on ext4, xfs, btrfs or tmpfs",
        ),
    }
}

/// Restricts a child to nothing and lets it try to write.
fn landlock_enforces() -> Result<u32, Errno> {
    let abi = landlock::abi()?;
    trial(0, || {
        creds::gain_nothing_by_exec()?;
        landlock::restrict(abi, std::iter::empty())?;
        // SAFETY: a static path.
        let answer = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
        match check_int(answer) {
            Err(Errno(libc::EACCES)) => Ok(()),
            // It said yes and did nothing.
            _ => Err(Errno(libc::EINVAL)),
        }
    })?;
    Ok(abi)
}

/// Installs a filter in a child and lets it make the denied call.
fn seccomp_filter() -> Probe {
    const MARK: u16 = libc::EXDEV as u16;
    let denied = libc::SYS_getppid as u32;
    let rules = BTreeMap::from([(denied, Rule::Always(Verdict::Errno(MARK)))]);
    let program = filter::compile(super::syscalls::ARCH, &rules, Verdict::Allow);
    let body = || {
        creds::gain_nothing_by_exec()?;
        seccomp::install(&program)?;
        // SAFETY: no arguments.
        match check(unsafe { libc::syscall(libc::SYS_getppid) }) {
            Err(Errno(errno)) if errno == i32::from(MARK) => Ok(()),
            _ => Err(Errno(libc::EINVAL)),
        }
    };
    match trial(0, body) {
        Ok(()) => works("a filtered call was denied"),
        Err(errno) => fails(
            format!("a filtered child was not filtered: {errno}"),
            "a kernel with CONFIG_SECCOMP_FILTER is needed, and a container that allows seccomp(2)",
        ),
    }
}

/// Whether a process limit counts the sandbox's own processes only, and holds.
fn process_rlimit() -> Probe {
    let body = || {
        creds::empty_bounding_set(&[])?;
        creds::drop_all()?;
        let limit = libc::rlimit { rlim_cur: 2, rlim_max: 2 };
        // SAFETY: the structure outlives the call.
        check_int(unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit) })?;
        // One more fits; the next does not.
        for allowed in [true, false] {
            let none = std::ptr::null::<libc::c_void>();
            // The library's `fork` takes its allocator's locks, which a thread of the caller may have held when it was
            // copied: nobody is left here who could give them back.
            // SAFETY: without a stack the copy runs on a copy of ours, and pauses until the namespace ends with us.
            let pid = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, none, none, none, none) };
            if pid == 0 {
                // SAFETY: no arguments.
                unsafe { libc::pause() };
            }
            if (pid > 0) != allowed {
                return Err(Errno(libc::EINVAL));
            }
        }
        Ok(())
    };
    match trial_inside(NAMESPACES, body) {
        Ok(()) => works("counted per user namespace"),
        Err(errno) => fails(format!("RLIMIT_NPROC: {errno}"), "a kernel of 5.14 or newer is needed"),
    }
}

fn controller(facts: &Option<CgroupFacts>, name: &str, has: impl Fn(&CgroupFacts) -> bool) -> Probe {
    match facts {
        Some(facts) if has(facts) => works(match facts.version {
            CgroupVersion::V1 => "cgroup v1",
            CgroupVersion::V2 => "cgroup v2",
        }),
        _ => fails(format!("no cgroup with the {name} controller can be made"), cgroup_remedy()),
    }
}

fn cgroup_remedy() -> &'static str {
    if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        "start polder in a delegated cgroup: `systemd-run --user --scope -p Delegate=yes polder …`"
    } else {
        "make `polder` below /sys/fs/cgroup/memory, pids and cpu and give it to your user"
    }
}

#[cfg(test)]
mod tests;
