//! As root this would change the machine.

use crate::answer::{Answer, READ_ONLY};
use crate::attack::Attack;
use std::fs::{self, OpenOptions};

const PLACES: [&str; 5] = ["/usr/bin", "/usr/lib", "/etc", "/var", "/opt"];

pub(crate) const ATTACK: Attack = Attack {
    id: "T015b",
    name: "system_directories_cannot_be_written",
    holds: "no file can be made in the system's directories",
    attempt: |field| {
        Answer::all(
            field,
            PLACES.map(|place| {
                let path = format!("{place}/polder-attack-{}", std::process::id());
                let made = OpenOptions::new().write(true).create_new(true).open(&path);
                if made.is_ok() {
                    let _ = fs::remove_file(&path);
                }
                Answer::of(place, made, READ_ONLY)
            }),
        )
    },
    ..Attack::PLAIN
};
