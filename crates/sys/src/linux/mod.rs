//! The Linux half: namespaces, mounts, Landlock, seccomp, cgroups, terminals.

pub mod aside;
pub mod attempt;
mod call;
pub mod cgroup;
mod child;
mod creds;
pub mod facts;
pub mod filter;
mod guard;
mod landlock;
mod mount;
mod net;
pub mod probe;
mod recipe;
mod seccomp;
mod shim;
mod spawn;
pub mod syscalls;
pub mod terminal;
pub mod wait;
mod wire;

pub use recipe::{
    Access, Identity, LandlockRule, LandlockSpec, Missing, NetNamespace, Recipe, Reserved, Source, Step, Swept,
};
pub use spawn::{Ended, Launched, Report, SpawnError, spawn};
