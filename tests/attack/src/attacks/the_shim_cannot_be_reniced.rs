//! Nice values and I/O classes can be set for all processes of a user at once.
//!
//! The control is alone in a pid namespace, because without one it would change every process of the user.

use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Control};
use crate::field::Field;
use polder_sys::attempt::{Ended, idle_user, in_copy, renice_user, unshare};
use std::io;

pub(crate) const ATTACK: Attack = Attack {
    id: "T034i",
    name: "the_shim_cannot_be_reniced",
    holds: "the command cannot slow the first process down by naming its user",
    control: Control::NamespaceRoot,
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if field.is_control()
        && let Err(error) = unshare(libc::CLONE_NEWPID)
    {
        return Answer::Lacking(error.to_string());
    }
    // The first copy in a new pid namespace is alone there, and a second cannot be made once it has ended.
    let tried = in_copy(|| {
        let errno = |result: io::Result<()>| result.err().and_then(|error| error.raw_os_error()).unwrap_or(0);
        let (nice, idle) = (errno(renice_user(19)), errno(idle_user()));
        if nice == idle { nice } else { 255 }
    });
    match tried {
        Ok(Ended::Exited(0)) => Answer::Reached("setpriority and ioprio_set by user".to_owned()),
        Ok(Ended::Exited(255)) => Answer::Reached("one of setpriority and ioprio_set by user".to_owned()),
        Ok(Ended::Exited(errno)) => {
            Answer::of_error("setpriority and ioprio_set", &io::Error::from_raw_os_error(errno), DENIED)
        }
        other => Answer::Broken(format!("{other:?}")),
    }
}
