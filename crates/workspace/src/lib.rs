//! Copy-on-write workspaces: a command changes a layer of its own, and the tree changes when somebody says so.
//!
//! `begin` makes the layer, in a time that does not depend on the size of the tree. Whoever launches the command mounts
//! it over the tree.
//!
//! The layer was written by the command and is an attacker's: nothing in it is followed, believed or executed, and every
//! call names one entry of a directory that is already open.
#![forbid(unsafe_code)]

mod about;
mod lock;
mod name;
mod relative;
mod remove;
mod store;
mod workspace;

pub use about::{Keep, Mode};
pub use lock::RunLock;
pub use name::{Name, NameError};
pub use relative::{NotRelative, Relative};
pub use store::{Begin, Store, StoreError};
pub use workspace::{Layers, Workspace};
