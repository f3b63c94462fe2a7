//! Having the caches of a plan ready before a run, and held until it has ended.

use polder_cache::{Claim, ClaimError, Owner};
use polder_facts::Sourced;
use polder_plan::{Identity, Plan};
use polder_sys::wait::{self, Signals};
use std::ops::ControlFlow;
use std::time::Duration;

/// What came of asking.
pub(crate) enum Claimed {
    /// Everything is there; nothing was asked for without a claim.
    Ready(Option<Claim>),
    /// The user did not want to wait.
    Interrupted(i32),
}

/// Makes the caches ready. That can mean to wait for another run, or a long copy, and the user can end both.
pub(crate) fn claim(plan: &Plan, signals: Option<&Signals>) -> Result<Claimed, ClaimError> {
    let Some(Sourced { value: caches, .. }) = &plan.caches else { return Ok(Claimed::Ready(None)) };
    let Identity { caller_is_root, uid, gid, .. } = plan.identity;
    let owner = caller_is_root.then_some(Owner { uid, gid });
    let mut ended_by = None;
    let patience = &mut |pause| {
        ended_by = wait_or_signal(signals, pause);
        if ended_by.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let claimed = polder_cache::claim(caches, owner, patience);
    match (claimed, ended_by) {
        (Err(ClaimError::Interrupted), Some(signal)) => Ok(Claimed::Interrupted(signal)),
        (claimed, _) => claimed.map(|claim| Claimed::Ready(Some(claim))),
    }
}

/// Waits for a moment, or for a signal that ends the run.
pub(crate) fn wait_or_signal(signals: Option<&Signals>, pause: Duration) -> Option<i32> {
    // A wait that failed was a short one; the next attempt says what is wrong.
    let _ = wait::readable(&[signals.map(Signals::fd)], Some(pause));
    let mut ended_by = None;
    while let Some(signal) = signals.and_then(Signals::next) {
        if signal != wait::WINDOW_CHANGED {
            ended_by = Some(signal);
        }
    }
    ended_by
}
