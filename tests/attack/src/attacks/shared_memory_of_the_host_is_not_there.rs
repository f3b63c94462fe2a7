//! System V segments are found by a number.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use crate::stage::{Missing, Stage};
use polder_sys::attempt::{remove_shared_memory, shared_memory};

pub(crate) const ATTACK: Attack = Attack {
    id: "T050a",
    name: "shared_memory_of_the_host_is_not_there",
    holds: "a segment of shared memory of the host cannot be found",
    bait,
    attempt: |field: &Field| {
        let found = shared_memory(field.number("key") as i32, 0);
        Answer::of("shmget", found, &[libc::ENOENT, libc::EACCES, libc::EPERM])
    },
    ..Attack::PLAIN
};

struct Segment(i32);

impl Drop for Segment {
    fn drop(&mut self) {
        remove_shared_memory(self.0);
    }
}

fn bait(stage: &mut Stage) -> Result<(), Missing> {
    let key = 0x0070_0000 + std::process::id() as i32 % 0x000f_ffff;
    let segment = Segment(shared_memory(key, 4096)?);
    stage.tell("key", key);
    stage.hold(segment);
    Ok(())
}
