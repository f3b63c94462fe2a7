//! What the Linux engines share: the shim inside, and a run that it watches over. Knows no engine.

mod ground;
mod inside;
mod judge;
mod limits;
mod program;
mod run;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use ground::{etc, identity};
pub(crate) use inside::{c, inside};
pub(crate) use judge::{Judge, RESERVED_MAX, enforced, gap};
pub(crate) use limits::{counts_pids, make_cgroup};
pub(crate) use program::{Call, Program, find, launch_by, trial, tried};
pub(crate) use run::{ShimmedRun, describe, setup};
