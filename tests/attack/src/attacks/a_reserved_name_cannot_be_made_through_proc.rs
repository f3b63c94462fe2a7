//! `/proc/self/cwd` and `/proc/self/fd/N` are other names of the workspace.

use crate::answer::{Answer, READ_ONLY};
use crate::attack::Attack;
use crate::field::Field;
use std::os::fd::AsRawFd;

pub(crate) const ATTACK: Attack = Attack {
    id: "T018g",
    name: "a_reserved_name_cannot_be_made_through_proc",
    holds: "a protected name that does not exist yet cannot be made by a path through /proc",
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if let Err(error) = std::fs::write(field.workspace("innocent"), "gitdir: elsewhere") {
        return Answer::Broken(format!("cannot even make an ordinary file: {error}"));
    }
    let dir = match std::fs::File::open(field.workspace("")) {
        Ok(dir) => dir,
        Err(error) => return Answer::Broken(error.to_string()),
    };
    let pid = std::process::id();
    let paths = [
        "/proc/self/cwd/.git".to_owned(),
        format!("/proc/self/fd/{}/.git", dir.as_raw_fd()),
        "/proc/thread-self/cwd/.git".to_owned(),
        "//proc//self/cwd/.git".to_owned(),
        "/proc/./self/cwd/.git".to_owned(),
        format!("/proc/{pid}/cwd/.git"),
        format!("/proc/{pid}/fd/{}/.git", dir.as_raw_fd()),
        format!("/proc/{pid}/task/{pid}/cwd/.git"),
        format!("/proc/{pid}/root{}/.git", field.workspace("").display()),
        format!("/dev/fd/{}/.git", dir.as_raw_fd()),
        "./../ws/.git".to_owned(),
    ];
    Answer::all(
        field,
        paths
            .iter()
            .map(|path| {
                let made = std::fs::create_dir(path);
                let _ = std::fs::remove_dir(field.workspace(".git"));
                // A link of the guard's own process instead of ours leads to a directory that cannot be written.
                Answer::of(path, made, READ_ONLY)
            })
            .collect::<Vec<_>>(),
    )
}
