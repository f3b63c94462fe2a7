//! POSIX queues are found by a name.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use crate::stage::{Missing, Stage};
use polder_sys::attempt::{Create, message_queue, remove_message_queue};
use std::ffi::CString;

pub(crate) const ATTACK: Attack = Attack {
    id: "T050b",
    name: "message_queues_of_the_host_are_not_there",
    holds: "a message queue of the host cannot be opened",
    bait,
    attempt: |field: &Field| {
        let Ok(name) = CString::new(field.word("queue")) else { return Answer::Broken("no name".to_owned()) };
        Answer::of("mq_open", message_queue(&name, Create::No), &[libc::ENOENT, libc::EACCES, libc::EPERM])
    },
    ..Attack::PLAIN
};

struct Queue(CString);

impl Drop for Queue {
    fn drop(&mut self) {
        remove_message_queue(&self.0);
    }
}

fn bait(stage: &mut Stage) -> Result<(), Missing> {
    let name = format!("polder-attack-{}", std::process::id());
    let queue = CString::new(name.clone()).map_err(std::io::Error::other)?;
    match message_queue(&queue, Create::Yes) {
        Ok(open) => stage.hold(open),
        Err(error) => return Err(Missing::Lacking(format!("no message queues here: {error}"))),
    }
    stage.tell("queue", name);
    stage.hold(Queue(queue));
    Ok(())
}
