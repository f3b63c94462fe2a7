//! The same with the file in which a project keeps its sandboxes.

use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Decides};
use crate::attacks::host_polder;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T023b",
    name: "a_pipe_as_configuration_does_not_wedge_the_next_run",
    holds: "a FIFO that the command left as configuration does not hold up the next run",
    attempt: |field: &Field| {
        let made = polder_sys::attempt::mknod(&field.workspace("polder.yaml"), libc::S_IFIFO | 0o644, 0);
        Answer::of("mkfifo", made, DENIED)
    },
    decides: Decides::JudgeAlone,
    judge: |stage, _| host_polder::plans_in_time(stage),
    ..Attack::PLAIN
};
