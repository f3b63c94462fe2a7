//! What the Linux engines share: the shim inside, and a run that it watches over. Knows no engine.

mod cgroup;
mod inside;
mod judge;
mod masks;
mod places;
mod run;

pub(crate) use cgroup::{counts_pids, make_cgroup};
pub(crate) use inside::{c, inside};
pub(crate) use judge::{Judge, enforced};
pub(crate) use masks::{hides, identity, masks, relative};
pub(crate) use places::{DEVICE_LINKS, DEVICES, has_private_home, var_tmp_holds_mounts};
pub(crate) use run::{ShimmedRun, describe, setup};
