//! The control is the root of a user namespace with a name of its own.

use crate::answer::{Answer, NO_CALL};
use crate::attack::{Attack, Control};
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T047i",
    name: "the_host_name_cannot_be_changed",
    holds: "the name of the machine cannot be changed",
    control: Control::NamespaceRoot,
    attempt: |field: &Field| {
        if field.is_control()
            && let Err(error) = polder_sys::attempt::unshare(libc::CLONE_NEWUTS)
        {
            return Answer::Lacking(error.to_string());
        }
        Answer::of("sethostname", polder_sys::attempt::set_hostname(c"attacked"), NO_CALL)
    },
    ..Attack::PLAIN
};
