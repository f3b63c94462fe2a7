//! `/dev/tty` is the terminal of the process that opens it, and the shim was born in the session of its caller.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::open;
use std::path::Path;

pub(crate) const ATTACK: Attack = Attack {
    id: "T034d",
    name: "the_callers_terminal_cannot_be_opened",
    holds: "the command cannot open the terminal of the caller, by any spelling of the call",
    bait: |stage| {
        let terminal = polder_sys::attempt::take_terminal();
        // The second stage of one attack is in the session of the first.
        if let Ok(terminal) = terminal {
            std::mem::forget(terminal);
        }
        let _ = stage;
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let denied = &[libc::ENXIO, libc::EPERM, libc::EACCES, libc::ENOENT];
    let tty = |flags| open(Path::new("/dev/tty"), flags, 0o600);
    Answer::all(
        field,
        [
            Answer::of("open", tty(libc::O_RDWR), denied),
            Answer::of("open with O_CREAT", tty(libc::O_RDWR | libc::O_CREAT), denied),
        ],
    )
}
