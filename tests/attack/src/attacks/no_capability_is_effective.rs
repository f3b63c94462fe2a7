//! What the command itself holds, whatever could still be given to it.

use crate::answer::Answer;
use crate::attack::{Attack, Control};
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T210",
    name: "no_capability_is_effective",
    holds: "the command holds no capability, also as uid 0 of its user namespace",
    control: Control::NamespaceRoot,
    attempt,
    ..Attack::PLAIN
};

fn attempt(_: &Field) -> Answer {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for key in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        let text = status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim).unwrap_or_default();
        match u64::from_str_radix(text, 16) {
            Ok(0) => {}
            Ok(set) => return Answer::Reached(format!("{key} {set:x}")),
            Err(_) => return Answer::Broken(format!("no {key} in /proc/self/status")),
        }
    }
    Answer::Blocked("four empty sets".to_owned())
}
