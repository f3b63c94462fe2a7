//! The `polder` command, used as people use it: real files, real signals, real terminals.
//!
//! Tests drive the built binary: `POLDER_TEST_BIN` or `POLDER_BIN` names it, else it is the one in the target directory
//! of the test program (`cargo build --package polder-cli`). Every test has a [`Place`] of its own, so that all of them
//! run at once, as root and as an ordinary user.
#![forbid(unsafe_code)]

mod daemon;
mod hold;
mod place;
mod registry;
mod soak;
mod terminal;
mod without;

pub use daemon::{Daemon, daemons, docker, image, with_daemons, with_runtime};
pub use hold::{Held, hold, pause, until};
pub use place::{Place, Said, binary, golden, is_root};
pub use registry::Registry;
pub use soak::{SoakReport, soak_kill};
pub use terminal::on_a_terminal;
pub use without::{Lack, without};
