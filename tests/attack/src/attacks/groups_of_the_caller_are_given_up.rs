//! A supplementary group of root's opens files of that group, whatever the uid is mapped to.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use crate::stage::Missing;

/// A group that no file of this machine needs to have.
const GROUP: u32 = 54_321;

pub(crate) const ATTACK: Attack = Attack {
    id: "T206b",
    name: "groups_of_the_caller_are_given_up",
    holds: "a command of a root caller has no supplementary group",
    bait: |_| match polder_sys::attempt::join_group(GROUP) {
        Ok(()) => Ok(()),
        Err(error) => Err(Missing::Lacking(format!("only root can take groups: {error}"))),
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(_: &Field) -> Answer {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    match status.lines().find_map(|line| line.strip_prefix("Groups:")).map(str::trim) {
        Some("") => Answer::Blocked("no group".to_owned()),
        Some(groups) => Answer::Reached(format!("groups {groups}")),
        None => Answer::Broken("no groups in /proc/self/status".to_owned()),
    }
}
