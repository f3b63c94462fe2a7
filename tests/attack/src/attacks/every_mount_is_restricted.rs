//! The flags of every mount, as the kernel lists them.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::path::Path;

pub(crate) const ATTACK: Attack = Attack {
    id: "T203a",
    name: "every_mount_is_restricted",
    holds: "every mount is nosuid, every mount of a tree nodev, and kernel file systems are noexec",
    attempt,
    ..Attack::PLAIN
};

fn attempt(_: &Field) -> Answer {
    let Ok(table) = std::fs::read_to_string("/proc/self/mountinfo") else {
        return Answer::Broken("no /proc/self/mountinfo".to_owned());
    };
    let mut count = 0;
    for line in table.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let (Some(place), Some(flags)) = (left.split(' ').nth(4), left.split(' ').nth(5)) else { continue };
        let kind = right.split(' ').next().unwrap_or_default();
        let has = |flag: &str| flags.split(',').any(|each| each == flag);
        let is_tree = kind != "devpts" && Path::new(place).is_dir();
        let is_kernels = matches!(kind, "proc" | "devpts");
        // A private root holds only what polder or the engine made.
        if (place, kind) == ("/", "tmpfs") {
            continue;
        }
        if !has("nosuid") || (is_tree && !has("nodev")) || (is_kernels && !has("noexec")) {
            return Answer::Reached(format!("{place} ({kind}) is {flags}"));
        }
        count += 1;
    }
    Answer::Blocked(format!("{count} mounts"))
}
