//! In a namespace of its own the command would hold every capability.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{Ended, clone, clone3, in_copy, unshare};
use std::io;

pub(crate) const ATTACK: Attack = Attack {
    id: "T036a",
    name: "no_namespace_can_be_made",
    holds: "no namespace can be made by unshare, clone or clone3",
    attempt,
    ..Attack::PLAIN
};

/// Refused by the filter, or by the bound of the user namespace; see user_namespaces(7).
const REFUSED: &[i32] = &[libc::EPERM, libc::EACCES, libc::ENOSYS, libc::ENOSPC];

fn attempt(field: &Field) -> Answer {
    let user = libc::CLONE_NEWUSER;
    let with = [
        0,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    // In a copy, because a process in a user namespace of its own is another one for all that follows.
    let unshared = |flags| match in_copy(|| unshare(flags).err().and_then(|error| error.raw_os_error()).unwrap_or(0)) {
        Ok(Ended::Exited(0)) => Ok(()),
        Ok(Ended::Exited(errno)) => Err(io::Error::from_raw_os_error(errno)),
        Ok(Ended::Signalled(_)) | Err(_) => Err(io::Error::other("the copy was ended")),
    };
    let mut answers: Vec<Answer> = with
        .iter()
        .map(|more| Answer::of(&format!("unshare {:x}", user | more), unshared(user | more), REFUSED))
        .collect();
    answers.push(Answer::of("clone", clone(user), REFUSED));
    answers.push(Answer::of("clone3", clone3(user as u64), REFUSED));
    Answer::all(field, answers)
}
