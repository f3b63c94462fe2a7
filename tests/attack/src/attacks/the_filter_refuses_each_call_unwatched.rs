//! Where nothing is observed, the filter itself answers; with an observer, the shim does.

use crate::attack::Attack;
use crate::attacks::the_filter_refuses_each_call_itself::attempt;

pub(crate) const ATTACK: Attack = Attack {
    id: "T201b",
    name: "the_filter_refuses_each_call_unwatched",
    holds: "every call of the list is refused by the filter where nothing is observed",
    sandbox: |_, sandbox| sandbox.observe("off"),
    attempt,
    ..Attack::PLAIN
};
