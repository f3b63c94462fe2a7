//! A read-only mount refuses all of these, and Landlock once more, each by a right of its own.

use crate::answer::{Answer, READ_ONLY};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{bind_unix, mknod, truncate};
use std::fs;
use std::io;

pub(crate) const ATTACK: Attack = Attack {
    id: "T204",
    name: "a_read_only_tree_resists_every_change",
    holds: "in a read-only tree of the caller's own nothing is made, changed, moved or removed",
    bait: |stage| {
        // Without a guard, which refuses devices before Landlock is asked.
        stage.repository()?;
        for name in ["written", "cut", "removed"] {
            stage.file(&format!("lib/{name}"), "library")?;
        }
        fs::create_dir(stage.root.join("lib/empty"))?;
        stage.tell("lib", stage.root.join("lib").display());
        Ok(())
    },
    // Not below `/tmp`: what Landlock gives above, it cannot take away below.
    sandbox: |stage, sandbox| sandbox.bind(format!("{}:/opt/shown/lib", stage.root.join("lib").display())),
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let at = |name: &str| field.shown("lib", "/opt/shown/lib").join(name);
    let of = |what: &str, result: io::Result<()>| Answer::of(what, result, READ_ONLY);
    Answer::all(
        field,
        [
            of("write a file", fs::OpenOptions::new().write(true).open(at("written")).map(drop)),
            of("truncate", truncate(&at("cut"), 1)),
            of("make a file", mknod(&at("made"), libc::S_IFREG | 0o600, 0)),
            of("mkdir", fs::create_dir(at("directory"))),
            of("symlink", std::os::unix::fs::symlink("x", at("link"))),
            of("mkfifo", mknod(&at("pipe"), libc::S_IFIFO | 0o600, 0)),
            of("bind a socket", bind_unix(&at("socket")).map(drop)),
            // A whiteout, the one device that needs no capability.
            of("character device", mknod(&at("whiteout"), libc::S_IFCHR | 0o600, 0)),
            block_device(mknod(&at("block"), libc::S_IFBLK | 0o600, 0)),
            of("unlink", fs::remove_file(at("removed"))),
            of("rmdir", fs::remove_dir(at("empty"))),
        ],
    )
}

/// Landlock is asked before the capability is: EPERM means that everything but the capability was passed.
fn block_device(result: io::Result<()>) -> Answer {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Answer::Reached("block device".to_owned()),
        other => Answer::of("block device", other, &[libc::EROFS, libc::EACCES]),
    }
}
