//! `/proc/PID` of a host process holds its environment, its arguments and its memory map.

use crate::answer::{Answer, NO_PROCESS};
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T013c",
    name: "host_processes_are_not_in_view",
    holds: "environment, arguments, maps and files of host processes are not readable",
    bait: |stage| {
        stage.environment.insert("HOST_SECRET".into(), "secret".into());
        let victim = stage.victim("")?;
        stage.tell("victim", victim);
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let victim = field.number("victim");
    let read = |name: &str| {
        let path = format!("/proc/{victim}/{name}");
        Answer::of(&path, std::fs::read(&path), NO_PROCESS)
    };
    Answer::all(field, ["environ", "cmdline", "maps", "status", "stat", "mountinfo"].map(read))
}
