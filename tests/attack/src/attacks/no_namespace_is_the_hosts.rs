//! Each namespace has a number, which the kernel shows as the text of a link.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::fs;

const KINDS: [&str; 7] = ["user", "mnt", "pid", "ipc", "uts", "net", "cgroup"];

pub(crate) const ATTACK: Attack = Attack {
    id: "T202",
    name: "no_namespace_is_the_hosts",
    holds: "the command is in no namespace of its caller",
    bait: |stage| {
        for kind in KINDS {
            let number = fs::read_link(format!("/proc/self/ns/{kind}"))?;
            stage.tell(kind, number.display());
        }
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    Answer::all(
        field,
        KINDS.map(|kind| match fs::read_link(format!("/proc/self/ns/{kind}")) {
            Ok(own) if own.as_os_str() == field.word(kind) => Answer::Reached(format!("{kind} is the caller's")),
            Ok(_) => Answer::Blocked(kind.to_owned()),
            Err(error) => Answer::Broken(format!("{kind}: {error}")),
        }),
    )
}
