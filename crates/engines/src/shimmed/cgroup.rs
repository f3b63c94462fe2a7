//! The cgroup of a run, for engines whose processes are the host's.

use super::run::setup;
use polder_engine::{Fitted, LaunchError};
use polder_facts::{ByteSize, Mechanism, Origin, Probe};
use polder_plan::Plan;
use polder_sys::cgroup::{Bounds, Cgroup};

/// Whether a cgroup holds the limit on processes. The built-in limit is a safety net, which the rlimit holds just as
/// well; a cgroup would cost every run.
pub(crate) fn counts_pids(fitted: &Fitted) -> bool {
    let asked = fitted.plan().limits.pids.as_ref().is_some_and(|limit| limit.origin != Origin::BuiltIn);
    asked && fitted.host().mechanisms.get(&Mechanism::CgroupPids).is_some_and(Probe::works)
}

/// The least memory that a sandbox is made with. The first process of each engine took between half a mebibyte and
/// three when it was tried with less and less, with programs that were not in the page cache yet.
pub(crate) const MEMORY_MIN: ByteSize = ByteSize(4 << 20);
/// What is advised: room for a small command beside the sandbox itself.
const MEMORY_ADVISED: ByteSize = ByteSize(32 << 20);

/// What to do about a bound on memory in which no sandbox can be made.
pub(crate) fn memory_remedy() -> String {
    format!("give it at least {MEMORY_ADVISED}: `--memory {MEMORY_ADVISED}`, or `limits: {{memory: {MEMORY_ADVISED}}}`")
}

/// The kernel ended a sandbox that was being made.
#[derive(Debug, thiserror::Error)]
#[error(
    "the sandbox itself needs more memory than `limits.memory: {limit}` ({origin}): the kernel ended it while it was being made"
)]
struct Starved {
    limit: ByteSize,
    origin: Origin,
}

/// Why a launch failed: for want of memory, where the cgroup has counted that, and for the reason given otherwise.
pub(crate) fn starved_or(plan: &Plan, cgroup: Option<&Cgroup>, reason: LaunchError) -> LaunchError {
    let reached = cgroup.is_some_and(|cgroup| cgroup.reached().memory);
    match &plan.limits.memory {
        Some(limit) if reached => {
            setup(Starved { limit: limit.value, origin: limit.origin.clone() }, Some(memory_remedy()))
        }
        _ => reason,
    }
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
