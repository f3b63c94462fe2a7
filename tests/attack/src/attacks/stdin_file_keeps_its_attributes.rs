//! Rights to a file's attributes come with its owner, not with the way in which it was opened.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::field::Field;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

pub(crate) const ATTACK: Attack = Attack {
    id: "T003f",
    name: "stdin_file_keeps_its_attributes",
    holds: "the mode and the times of a file that is the command's input cannot be changed through it",
    bait: |stage| {
        let input = stage.file("home/input", "input")?;
        fs::set_permissions(input, Permissions::from_mode(0o600))?;
        Ok(())
    },
    input: |stage| File::open(stage.root.join("home/input")).map(Some),
    attempt,
    judge: |stage, _| {
        let metadata = fs::metadata(stage.root.join("home/input")).map_err(|error| error.to_string())?;
        let kept = metadata.permissions().mode() & 0o777 == 0o600
            && metadata.modified().is_ok_and(|time| time != SystemTime::UNIX_EPOCH);
        if kept { Ok(()) } else { Err(format!("the file was changed: {metadata:?}")) }
    },
    decides: Decides::JudgeAlone,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let stdin = || io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let changed = [
        stdin().and_then(|file| file.set_permissions(Permissions::from_mode(0o666))),
        fs::set_permissions("/proc/self/fd/0", Permissions::from_mode(0o666)),
        stdin().and_then(|file| file.set_modified(SystemTime::UNIX_EPOCH)),
    ];
    let denied = &[libc::EPERM, libc::EACCES, libc::EROFS];
    Answer::all(field, changed.map(|result| Answer::of("change an attribute", result, denied)))
}
