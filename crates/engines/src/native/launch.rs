//! Carrying a recipe out, and what runs afterwards. Thin: everything was decided before.

use super::lower::{Lowered, lower};
use crate::shimmed::{ShimmedRun, describe, setup};
use polder_engine::{Fitted, HeadStart, LaunchError, Running, Services};
use polder_facts::{Mechanism, Origin, Probe};
use polder_sys::Recipe;
use polder_sys::cgroup::{Bounds, Cgroup};

pub(super) fn launch(fitted: Fitted, services: Services) -> Result<Box<dyn Running>, LaunchError> {
    let Services { stdio, terminal, ahead } = services;
    let Lowered { ground, inside } = lower(&fitted, terminal);
    let cgroup = make_cgroup(&fitted)?;
    let entrance = cgroup.as_ref().map(Cgroup::entrance).transpose().map_err(|error| setup(error, None))?;
    let recipe = Recipe { ground, inside, cgroup: entrance, stdio };
    // On failure the cgroup is dropped after everything that was in it.
    let launched = polder_sys::spawn(&recipe, ahead.and_then(HeadStart::claim)).map_err(describe)?;
    Ok(Box::new(ShimmedRun::new(launched, cgroup, fitted.plan())))
}

/// Whether a cgroup holds the limit on processes. The built-in limit is a safety net, which the rlimit holds just as
/// well; a cgroup would cost every run.
pub(super) fn counts_pids(fitted: &Fitted) -> bool {
    let asked = fitted.plan().limits.pids.as_ref().is_some_and(|limit| limit.origin != Origin::BuiltIn);
    asked && fitted.host().mechanisms.get(&Mechanism::CgroupPids).is_some_and(Probe::works)
}

/// A cgroup for the limits that need one and for which the host has a controller.
fn make_cgroup(fitted: &Fitted) -> Result<Option<Cgroup>, LaunchError> {
    let (plan, host) = (fitted.plan(), fitted.host());
    let Some(facts) = &host.cgroup else { return Ok(None) };
    let works = |mechanism| host.mechanisms.get(&mechanism).is_some_and(Probe::works);
    let limits = &plan.limits;
    let bounds = Bounds {
        memory_bytes: limits.memory.as_ref().filter(|_| works(Mechanism::CgroupMemory)).map(|limit| limit.value.0),
        // The shim is one of them.
        pids: limits.pids.as_ref().filter(|_| counts_pids(fitted)).map(|limit| limit.value + 1),
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
