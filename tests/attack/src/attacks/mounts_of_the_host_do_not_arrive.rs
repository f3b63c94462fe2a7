//! On most machines mounts are shared: what is mounted on the host later appears in every copy of the tree.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use crate::stage::Missing;

pub(crate) const ATTACK: Attack = Attack {
    id: "T203b",
    name: "mounts_of_the_host_do_not_arrive",
    holds: "what is mounted on the host while the command runs does not appear inside",
    bait: |_| match polder_sys::attempt::share_mounts() {
        Ok(()) => Ok(()),
        Err(error) => Err(Missing::Lacking(format!("shared mounts need a root caller: {error}"))),
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(_: &Field) -> Answer {
    let Ok(table) = std::fs::read_to_string("/proc/self/mountinfo") else {
        return Answer::Broken("no /proc/self/mountinfo".to_owned());
    };
    // The optional fields stand before the dash; see proc_pid_mountinfo(5).
    let linked = |line: &&str| {
        let fields = line.split(" - ").next().unwrap_or_default();
        fields.split(' ').skip(6).any(|field| field.starts_with("shared:") || field.starts_with("master:"))
    };
    match table.lines().find(linked) {
        Some(line) => Answer::Reached(line.to_owned()),
        None => Answer::Blocked("no mount has a peer or a master".to_owned()),
    }
}
