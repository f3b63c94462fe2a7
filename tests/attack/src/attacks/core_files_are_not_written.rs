//! A core file would hold secrets. A limit of 1 means none either, see core(5).

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T205b",
    name: "core_files_are_not_written",
    holds: "the limit on core files leaves room for none, and cannot be raised",
    attempt,
    ..Attack::PLAIN
};

fn attempt(_: &Field) -> Answer {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap_or_default();
    match line.split_whitespace().nth(1) {
        Some("0" | "1") => Answer::Blocked(line.trim().to_owned()),
        Some(hard) => Answer::Reached(format!("hard limit {hard}")),
        None => Answer::Broken("no core limit in /proc/self/limits".to_owned()),
    }
}
