//! TIOCSTI puts characters into the input of whoever reads the terminal next.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{take_terminal, type_into};
use std::os::fd::AsFd;

const TIOCSTI: u64 = 0x5412;

pub(crate) const ATTACK: Attack = Attack {
    id: "T048",
    name: "nothing_can_be_typed_into_a_terminal",
    holds: "TIOCSTI does not work, not even with bits above the 32 that the kernel looks at",
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    // A leader cannot begin another session, so a copy does; the terminal is its own.
    let tried = polder_sys::attempt::in_copy(|| {
        let Ok(master) = take_terminal() else { return 200 };
        // Closing it would hang up on the copy before it has answered.
        std::mem::forget(master);
        let Ok(tty) = std::fs::File::options().read(true).write(true).open("/dev/tty") else { return 201 };
        for request in [TIOCSTI, TIOCSTI | 1 << 32] {
            if let Err(error) = type_into(tty.as_fd(), request) {
                return error.raw_os_error().unwrap_or(202);
            }
        }
        0
    });
    let _ = field;
    match tried {
        Ok(polder_sys::attempt::Ended::Exited(0)) => Answer::Reached("a character was typed".to_owned()),
        Ok(polder_sys::attempt::Ended::Exited(code)) if code < 200 => {
            Answer::of_error("TIOCSTI", &std::io::Error::from_raw_os_error(code), DENIED)
        }
        other => Answer::Broken(format!("no terminal to try it on: {other:?}")),
    }
}
