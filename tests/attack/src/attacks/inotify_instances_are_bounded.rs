//! What a sandbox takes counts for its user on the host, who usually has 128 of them.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::inotify;

const WANTED: usize = 66;

pub(crate) const ATTACK: Attack = Attack {
    id: "T205a",
    name: "inotify_instances_are_bounded",
    holds: "a command cannot take all inotify instances of its user",
    attempt,
    ..Attack::PLAIN
};

fn attempt(_: &Field) -> Answer {
    let mut held = Vec::new();
    for number in 0..WANTED {
        match inotify() {
            Ok(instance) => held.push(instance),
            Err(error) => return Answer::of_error(&format!("{number} instances"), &error, &[libc::EMFILE]),
        }
    }
    Answer::Reached(format!("{WANTED} instances"))
}
