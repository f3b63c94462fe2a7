//! Whoever reads a FIFO waits for a writer; polder looks at the repository before every run.

use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Decides};
use crate::attacks::host_polder;
use crate::field::Field;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T023a",
    name: "a_pipe_as_a_submodule_config_does_not_wedge_the_next_run",
    holds: "a FIFO that the command left in the repository does not hold up the next run",
    bait: |stage| Ok(stage.repository()?),
    attempt,
    decides: Decides::JudgeAlone,
    judge: |stage, _| host_polder::plans_in_time(stage),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let dir = field.workspace(".git/modules/x");
    let made = fs::create_dir_all(&dir)
        .and_then(|()| fs::write(dir.join("HEAD"), "ref: refs/heads/main\n"))
        .and_then(|()| polder_sys::attempt::mknod(&dir.join("config"), libc::S_IFIFO | 0o644, 0));
    Answer::of("mkfifo", made, DENIED)
}
