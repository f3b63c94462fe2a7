//! From a judged plan to a recipe. Pure.

use crate::shimmed::{await_layers, counts_pids, ground, inside};
use polder_engine::{Fitted, Layers};
use polder_sys::{Ground, Inside, Terminal};

/// The part of a recipe that the plan alone decides.
pub(super) struct Lowered {
    pub(super) ground: Ground,
    pub(super) inside: Inside,
}

pub(super) fn lower(fitted: &Fitted, layers: Option<&Layers>, terminal: Option<Terminal>) -> Lowered {
    let mut ground = ground(fitted, layers);
    await_layers(&mut ground.steps);
    Lowered { ground, inside: inside(fitted, terminal, counts_pids(fitted)) }
}

#[cfg(test)]
mod tests;
