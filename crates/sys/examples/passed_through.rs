//! Prints which instructions a program and its children pass through until they execute another program: offsets in
//! its file, in hexadecimal, one a line, in the order in which they are reached first.
//!
//! `cargo xtask order` makes a list of functions from it. It steps through every instruction, which takes a minute
//! where the program takes milliseconds; nothing else sees every function on every machine.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for the terminal")]

use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;
use std::ptr;

/// No program of ours has more code than this.
const CODE_BYTES_MAX: u64 = 64 * 1024 * 1024;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).map(|word| CString::new(word.into_vec())).collect();
    let Ok(words) = words.into_iter().collect::<Result<Vec<_>, _>>() else { return ExitCode::FAILURE };
    match words.first().map(|program| trace(program, &words)) {
        Some(Some(offsets)) => {
            for offset in offsets {
                println!("{offset:x}");
            }
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("passed_through PROGRAM ARGS…: cannot trace");
            ExitCode::FAILURE
        }
    }
}

fn trace(program: &CString, words: &[CString]) -> Option<Vec<u64>> {
    let first = start(program, words)?;
    let base = load_address(first)?;
    let options = libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: the process is stopped and ours to trace.
    unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, first, 0, options) };
    step(first, 0);
    let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
    loop {
        let mut status = 0;
        // SAFETY: `status` is valid for writing.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
        if pid < 0 {
            return Some(order);
        }
        if !libc::WIFSTOPPED(status) {
            continue;
        }
        if status >> 16 == libc::PTRACE_EVENT_EXEC {
            // From here on it is another program.
            // SAFETY: the process is stopped and ours to trace.
            unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0) };
            continue;
        }
        let offset = position(pid).wrapping_sub(base);
        if offset < CODE_BYTES_MAX && seen.insert(offset) {
            order.push(offset);
        }
        step(
            pid,
            match libc::WSTOPSIG(status) {
                libc::SIGTRAP | libc::SIGSTOP => 0,
                other => other,
            },
        );
    }
}

/// The program, stopped before its first instruction.
fn start(program: &CString, words: &[CString]) -> Option<libc::pid_t> {
    let argv: Vec<_> = words.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect();
    // SAFETY: this process has one thread; the child only asks to be traced and executes the program.
    unsafe {
        match libc::fork() {
            ..0 => None,
            0 => {
                libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                libc::execv(program.as_ptr(), argv.as_ptr());
                libc::_exit(127)
            }
            child => {
                let mut status = 0;
                libc::waitpid(child, &raw mut status, 0);
                libc::WIFSTOPPED(status).then_some(child)
            }
        }
    }
}

/// Where the program's file begins in memory.
fn load_address(pid: libc::pid_t) -> Option<u64> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    u64::from_str_radix(maps.split('-').next()?, 16).ok()
}

fn step(pid: libc::pid_t, signal: i32) {
    // SAFETY: the process is stopped and ours to trace.
    unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, signal) };
}

#[cfg(target_arch = "x86_64")]
fn position(pid: libc::pid_t) -> u64 {
    // SAFETY: all-zero is a valid set of registers, which the kernel fills.
    unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers);
        registers.rip
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn position(_: libc::pid_t) -> u64 {
    // The list is made on one kind of machine and serves all: the names of functions are the same.
    u64::MAX
}
