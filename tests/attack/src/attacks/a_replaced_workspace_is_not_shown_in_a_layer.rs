//! Between the plan and the launch the workspace turns into a link to the home directory, and a layer is to be laid over it.

use super::a_replaced_workspace_is_not_shown::attempt;
use crate::attack::{Attack, Refusal};

pub(crate) const ATTACK: Attack = Attack {
    id: "T021d",
    name: "a_replaced_workspace_is_not_shown_in_a_layer",
    holds: "a workspace that became a link after the plan was made is not what a layer is laid over",
    sandbox: |_, sandbox| sandbox.cow(),
    attempt,
    refusal: Refusal::Holds,
    ..super::a_replaced_workspace_is_not_shown::ATTACK
};
