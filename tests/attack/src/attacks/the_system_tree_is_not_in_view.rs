//! `/sys` shows the machine and its cgroups, and has been the way out of containers (`release_agent`).

use crate::answer::{Answer, HIDDEN};
use crate::attack::Attack;

pub(crate) const ATTACK: Attack = Attack {
    id: "T013f",
    name: "the_system_tree_is_not_in_view",
    holds: "/sys, its cgroups and its firmware tables are not in view",
    attempt: |field| {
        let list = |path: &str| Answer::of(path, std::fs::read_dir(path), HIDDEN);
        Answer::all(field, ["/sys/kernel", "/sys/fs/cgroup", "/sys/class", "/sys/firmware"].map(list))
    },
    ..Attack::PLAIN
};
