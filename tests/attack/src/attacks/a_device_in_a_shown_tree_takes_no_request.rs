//! The same node by requests: Landlock has a right of its own for them.

use crate::attack::Attack;
use crate::attacks::a_device_node_in_a_shown_tree_is_dead::{bait, control_device};

pub(crate) const ATTACK: Attack = Attack {
    id: "T207b",
    name: "a_device_in_a_shown_tree_takes_no_request",
    holds: "a device node in a tree that is shown cannot be controlled",
    bait,
    sandbox: |stage, sandbox| sandbox.bind(format!("{}:/opt/shown/lib", stage.root.join("lib").display())),
    attempt: control_device,
    ..Attack::PLAIN
};
