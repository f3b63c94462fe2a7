//! Every `unsafe` block and every system call of polder.
//!
//! Other crates forbid `unsafe`; what they need from the kernel is a function here, one call each, that takes and
//! gives owned or borrowed descriptors. Nothing here decides: what to do arrives as data, mostly as a
//! [`Recipe`], and is done in the order in which it stands.
#![expect(unsafe_code, reason = "this crate is the one place for it")]

#[cfg(target_os = "linux")]
pub mod arena;
mod command;
mod errno;
pub mod keeper;
pub mod kept;
#[cfg(target_os = "linux")]
mod linux;
mod pty;
#[cfg(target_os = "linux")]
mod ready;
#[cfg(not(target_os = "linux"))]
mod unnamed;

pub use command::{Command, OutputMode, Rlimit, StreamSet, Terminal, TerminalSize};
pub use errno::Errno;
#[cfg(target_os = "linux")]
use linux::unnamed;
#[cfg(target_os = "linux")]
pub use linux::*;
