//! A filter that looks at numbers only takes a 32-bit call for another one.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{Ended, in_copy, int80};

const SOCKET: i32 = 359;
const GETPID: i32 = 20;

pub(crate) const ATTACK: Attack = Attack {
    id: "T045a",
    name: "the_32_bit_entrance_is_closed",
    holds: "no system call can be made by the 32-bit entrance",
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let calls = [("getpid", GETPID, 0, 0), ("socket AF_UNIX", SOCKET, libc::AF_UNIX, libc::SOCK_STREAM)];
    Answer::all(
        field,
        calls.map(|(name, number, a, b)| match in_copy(|| i32::from(int80(number, a, b, 0) < 0)) {
            Ok(Ended::Exited(0)) => Answer::Reached(name.to_owned()),
            Ok(Ended::Exited(_)) => Answer::Blocked(format!("{name}: an error")),
            Ok(Ended::Signalled(signal)) if [libc::SIGSYS, libc::SIGKILL, libc::SIGSEGV].contains(&signal) => {
                Answer::Blocked(format!("{name}: ended by signal {signal}"))
            }
            other => Answer::Broken(format!("{name}: {other:?}")),
        }),
    )
}
