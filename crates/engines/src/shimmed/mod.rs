//! What the Linux engines share: the shim inside, and a run that it watches over. Knows no engine.

mod cgroup;
mod denied;
mod etc;
mod ground;
mod inside;
mod judge;
mod layers;
mod masks;
mod places;
mod program;
mod run;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use cgroup::{counts_pids, make_cgroup, starved_or};
pub(crate) use denied::not_executed;
pub(crate) use etc::{allowance, etc};
pub(crate) use ground::{access, ground, net};
pub(crate) use inside::{c, inside, inside_of};
pub(crate) use judge::{Judge, enforced, gap, hidden_at_start, protected_by};
pub(crate) use layers::{Brought, await_layers, bring_layers, lay_layers, layer_places, layers_of, made_layers};
pub(crate) use masks::{GitConfigs, hides, identity, masks, relative};
pub(crate) use places::{DEVICE_LINKS, DEVICES, has_private_home, var_tmp_holds_mounts};
pub(crate) use program::{Call, Program, find, launch_by, trial, tried};
pub(crate) use run::{ShimmedRun, describe, setup};
