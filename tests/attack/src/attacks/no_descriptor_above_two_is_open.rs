//! Sockets and pipes of the sandbox's own machinery would be a way to talk to it.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::os::fd::AsFd;

pub(crate) const ATTACK: Attack = Attack {
    id: "T003b",
    name: "no_descriptor_above_two_is_open",
    holds: "the command starts with its three streams and nothing else",
    bait: |stage| {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        polder_sys::attempt::keep_over_exec(theirs.as_fd())?;
        stage.hold((ours, theirs));
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(_: &Field) -> Answer {
    let open = (3..1024).find_map(|number| {
        let path = format!("/proc/self/fd/{number}");
        std::fs::read_link(&path).ok().map(|target| format!("{number} is {}", target.display()))
    });
    match open {
        Some(found) => Answer::Reached(format!("descriptor {found}")),
        None => Answer::Blocked("descriptors 3 to 1023 are closed".to_owned()),
    }
}
