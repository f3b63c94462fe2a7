//! The least that a sandbox with Landlock and a system call filter costs: `floor COMMAND ARG…` executes a command that may
//! do everything below the working directory and read everything else that a root has, under a filter of one instruction
//! that allows every call. No namespace, no mount, nobody who watches. `cargo xtask bench work` measures it beside polder,
//! so that the kernel's own price can be told from ours.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Every right on files that Landlock knows since its fifth ABI.
const ALL: u64 = 0xffff;
/// Executing, reading files and directories.
const READ: u64 = 0b1101;
/// The same and writing, for devices.
const USE: u64 = 0b1111 | 1 << 14 | 1 << 15;
const RULE_PATH_BENEATH: i32 = 1;
const SET_MODE_FILTER: libc::c_uint = 1;

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

fn restrict() -> Result<()> {
    let attributes = Ruleset { files: ALL };
    // SAFETY: the structure is as long as said and outlives the call.
    let ruleset = done(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attributes, size_of::<Ruleset>(), 0)
    })?;
    let read = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/opt", "/var", "/run"];
    let rules = [(".", ALL), ("/tmp", ALL), ("/dev", USE)].into_iter().chain(read.map(|path| (path, READ)));
    for (path, allowed) in rules {
        let Ok(place) = File::open(path) else { continue };
        let rule = PathBeneath { allowed, parent: place.as_raw_fd() };
        // SAFETY: the rule has the layout of its type and outlives the call.
        done(unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &raw const rule, 0) })?;
    }
    // SAFETY: plain numbers.
    done(unsafe { libc::c_long::from(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) })?;
    // SAFETY: plain numbers.
    done(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) })?;
    let mut allow = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x7fff_0000 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut allow };
    // SAFETY: the program points at one instruction, and both outlive the call.
    done(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, 0, &raw const program) }).map(drop)
}

fn main() -> Result<()> {
    let mut words = std::env::args_os().skip(1);
    let program: OsString = words.next().ok_or_else(|| Error::other("say what to execute"))?;
    restrict()?;
    Err(Command::new(program).args(words).exec())
}
