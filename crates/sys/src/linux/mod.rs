//! The Linux half: namespaces, mounts, Landlock, seccomp, cgroups, terminals.

pub mod aside;
mod asked;
pub mod attempt;
mod call;
mod cell;
pub mod cgroup;
mod child;
mod creds;
mod denials;
pub mod directory;
mod door;
pub mod facts;
pub mod filter;
mod foreign;
mod image;
pub mod inmate;
pub mod inotify;
mod known;
mod landlock;
mod launched;
mod listener;
mod local;
mod located;
mod mapped;
mod mount;
#[cfg(feature = "mutate")]
pub mod mutate;
#[cfg(not(feature = "mutate"))]
mod mutate;
pub mod names;
mod net;
mod notify;
mod observer;
pub mod outside;
mod peers;
mod porter;
pub mod probe;
mod recipe;
pub mod repository;
mod seccomp;
mod setgid;
mod shared_net;
mod shim;
mod spot;
pub mod streams;
pub mod syscalls;
pub mod terminal;
mod text;
pub mod tree;
pub(crate) mod unnamed;
pub mod wait;
mod wire;

pub use cell::{Cell, spawn, spawn_beside};
pub use denials::{Denial, DenialKind, FoundAtEnd};
pub use door::{Door, Porter};
pub use foreign::{
    FIRST_ADDED, Foreign, ForeignError, Outer, OuterShown, become_shim_if_asked, memory_file, own_namespaces,
    shim_argv, spawn_foreign,
};
pub use launched::{Ended, Launched, Report, SpawnError};
pub use local::{connect_local, peer_uid};
pub use located::{Located, locate};
pub use recipe::{
    Access, Apart, Filtered, Finish, Ground, Hold, Identity, Inside, LandlockRule, LandlockSpec, Missing, NetNamespace,
    Observation, Recipe, Root, Source, Staging, Step, Swept, Word,
};
pub use shared_net::SharedNet;
