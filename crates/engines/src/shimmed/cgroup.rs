//! The cgroup of a run, for engines whose processes are the host's.

use super::run::setup;
use polder_engine::{Fitted, LaunchError};
use polder_facts::{Mechanism, Origin, Probe};
use polder_sys::cgroup::{Bounds, Cgroup};

/// Whether a cgroup holds the limit on processes. The built-in limit is a safety net, which the rlimit holds just as
/// well; a cgroup would cost every run.
pub(crate) fn counts_pids(fitted: &Fitted) -> bool {
    let asked = fitted.plan().limits.pids.as_ref().is_some_and(|limit| limit.origin != Origin::BuiltIn);
    asked && fitted.host().mechanisms.get(&Mechanism::CgroupPids).is_some_and(Probe::works)
}

/// A cgroup for the limits that need one and for which the host has a controller. `ours` counts the processes in it that
/// are not the command's.
pub(crate) fn make_cgroup(fitted: &Fitted, ours: u64) -> Result<Option<Cgroup>, LaunchError> {
    let (plan, host) = (fitted.plan(), fitted.host());
    let Some(facts) = &host.cgroup else { return Ok(None) };
    let works = |mechanism| host.mechanisms.get(&mechanism).is_some_and(Probe::works);
    let limits = &plan.limits;
    let bounds = Bounds {
        memory_bytes: limits.memory.as_ref().filter(|_| works(Mechanism::CgroupMemory)).map(|limit| limit.value.0),
        pids: limits.pids.as_ref().filter(|_| counts_pids(fitted)).map(|limit| limit.value + ours),
        cpus: limits.cpus.as_ref().filter(|_| works(Mechanism::CgroupCpu)).map(|limit| limit.value),
    };
    if bounds == (Bounds { memory_bytes: None, pids: None, cpus: None }) {
        return Ok(None);
    }
    polder_sys::cgroup::sweep(facts);
    Cgroup::create(facts, bounds)
        .map(Some)
        .map_err(|error| setup(error, Some("`polder doctor` shows where cgroups can be made".to_owned())))
}
