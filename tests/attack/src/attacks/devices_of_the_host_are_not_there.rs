//! Cameras, disks, virtual machines and file systems of the user's own.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::os::unix::fs::FileTypeExt;

/// What the sandbox has by design.
const ORDINARY: [&str; 13] =
    ["null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "ptmx", "pts", "shm"];

pub(crate) const ATTACK: Attack = Attack {
    id: "T090",
    name: "devices_of_the_host_are_not_there",
    holds: "no device is in view but the ones that every program needs",
    attempt: |_: &Field| {
        let entries = match std::fs::read_dir("/dev") {
            Ok(entries) => entries,
            Err(error) => return Answer::Broken(error.to_string()),
        };
        // By a look at the file itself: a listing tells of what a mount lies on.
        let is_device = |entry: &std::fs::DirEntry| {
            let kind = std::fs::metadata(entry.path()).map(|file| file.file_type());
            kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device())
        };
        let mut names: Vec<String> =
            entries.flatten().filter(is_device).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        if !names.iter().any(|name| name == "null") {
            return Answer::Broken("not even /dev/null is there".to_owned());
        }
        names.retain(|name| !ORDINARY.contains(&name.as_str()));
        if names.is_empty() { Answer::Blocked("six devices".to_owned()) } else { Answer::Reached(format!("{names:?}")) }
    },
    ..Attack::PLAIN
};
