//! `deny_read` in the workspace, against every way to open a file.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{open, open2};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};

pub(crate) const ATTACK: Attack = Attack {
    id: "T010a",
    name: "a_hidden_file_cannot_be_opened_by_any_call",
    holds: "a file under deny_read cannot be read by open, openat2, a path handle, a link or a copy",
    bait: |stage| {
        stage.file("ws/.env", "TOKEN=secret")?;
        stage.file("deny.yaml", "sandboxes: {a: {deny_read: [.env]}}\nsandbox: a\n")?;
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.with_configuration_file(stage.root.join("deny.yaml")),
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let path = field.workspace(".env");
    let again = |handle: OwnedFd| fs::read(format!("/proc/self/fd/{}", handle.as_raw_fd()));
    let (copy, moved) = (field.workspace("copy"), field.workspace("moved"));
    let pinned = &[libc::EXDEV, libc::EBUSY, libc::EROFS, libc::EPERM, libc::EACCES];
    Answer::all(
        field,
        [
            Answer::of("read", fs::read(&path), NO_CALL),
            Answer::of("openat2", open2(&path, libc::O_RDONLY, 0), NO_CALL),
            Answer::of("open for writing", open(&path, libc::O_WRONLY, 0), &[libc::EROFS, libc::EACCES, libc::EPERM]),
            Answer::of("O_PATH and again", open(&path, libc::O_PATH, 0).and_then(again), NO_CALL),
            Answer::of("link", fs::hard_link(&path, &copy).and_then(|()| fs::read(&copy)), pinned),
            Answer::of("rename", fs::rename(&path, &moved).and_then(|()| fs::read(&moved)), pinned),
        ],
    )
}
