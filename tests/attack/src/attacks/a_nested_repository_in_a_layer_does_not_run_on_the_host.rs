//! The same nested repository that the built-in policy lets a command make: in a layer, git on the host never meets it.

use super::a_nested_repository_does_not_run_on_the_host::attempt;
use crate::attack::{Attack, Decides, Refusal};
use crate::attacks::host_git;

pub(crate) const ATTACK: Attack = Attack {
    id: "T019f",
    name: "a_nested_repository_in_a_layer_does_not_run_on_the_host",
    holds: "where changes are kept apart, `git status` on the host runs nothing that the command put into a nested one",
    bait: host_git::bait,
    sandbox: |_, sandbox| sandbox.cow(),
    attempt,
    refusal: Refusal::Holds,
    decides: Decides::JudgeAlone,
    judge: host_git::judge,
    ..Attack::PLAIN
};
