//! Whoever opens a file under a lease waits for up to 45 seconds (fcntl(2), `/proc/sys/fs/lease-break-time`).
//! A notice on a directory tells of everything that the host does there.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::control;
use std::fs::File;
use std::os::fd::AsFd;

const F_SETLEASE: i32 = 1024;
const F_NOTIFY: i32 = 1026;
const DN_MODIFY: i64 = 2;

pub(crate) const ATTACK: Attack = Attack {
    id: "T013g",
    name: "leases_and_notices_cannot_be_set",
    holds: "no lease holds up the host at a shown file, and no notice listens to a shown directory",
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let made = File::create(field.workspace("leased")).and_then(|file| Ok((file, File::open(field.workspace(""))?)));
    let (file, directory) = match made {
        Ok(opened) => opened,
        Err(error) => return Answer::Broken(error.to_string()),
    };
    let no_such = &[libc::EINVAL];
    Answer::all(
        field,
        [
            Answer::of("F_SETLEASE", control(file.as_fd(), F_SETLEASE, libc::F_WRLCK.into()), no_such),
            Answer::of("F_NOTIFY", control(directory.as_fd(), F_NOTIFY, DN_MODIFY), no_such),
        ],
    )
}
