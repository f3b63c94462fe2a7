//! Runs by a runtime that has a kernel of its own, such as gVisor's.
//!
//! No descriptor of the host's can go in there, and there are neither Landlock nor the mounts that our own sandbox is made
//! with. So the container is made for one run, the daemon mounts what is shown and what covers the rest, and the wall is
//! the runtime's kernel. Our program inside starts the command, hands its streams through and tells its end; before that
//! it says what it finds, and what is not as it was asked for ends the launch: `seen` judges that.
//!
//! `fit` says what such a run keeps and what it does not, `lower` says what the container is, `life` makes and removes it,
//! `streams` carry bytes and words, `run` is the run itself.

mod fit;
mod launch;
mod life;
mod lower;
mod memory;
mod run;
mod seen;
mod streams;

pub(super) use fit::fit;
pub(super) use launch::{Services, launch};
