//! The control is the root of a user namespace, which has them all.

use crate::answer::Answer;
use crate::attack::{Attack, Control};
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T038a",
    name: "no_capability_is_left",
    holds: "every capability set is empty, and no program gains anything by being executed",
    control: Control::NamespaceRoot,
    attempt,
    ..Attack::PLAIN
};

fn attempt(_: &Field) -> Answer {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value =
        |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim).unwrap_or("?").to_owned();
    for key in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        match u64::from_str_radix(&value(key), 16) {
            Ok(0) => {}
            Ok(set) => return Answer::Reached(format!("{key} {set:x}")),
            Err(_) => return Answer::Broken(format!("no {key} in /proc/self/status")),
        }
    }
    match value("NoNewPrivs:").as_str() {
        "1" => Answer::Blocked("five empty sets, NoNewPrivs 1".to_owned()),
        other => Answer::Reached(format!("NoNewPrivs {other}")),
    }
}
