//! A sandbox by ptrace has its filter ask a tracer. The kernel asks the listener of another filter in front of the
//! tracer and then not the tracer (seccomp(2): the first action in the list of precedence alone is taken).

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::make_behind_tracer;

pub(crate) const ATTACK: Attack = Attack {
    id: "T036e",
    name: "a_nested_tracer_is_not_passed_by",
    holds: "a tracer inside that is to be asked about a call is asked, or cannot be set up",
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let path = field.workspace("traced");
    match make_behind_tracer(&path) {
        Ok(true) => Answer::Reached("mkdirat without a word to the tracer".to_owned()),
        // The control shows that the directory can be made, and that the tracer would have been asked.
        Ok(false) if field.is_control() => Answer::of("mkdir", std::fs::create_dir(&path), &[]),
        Ok(false) => Answer::Blocked("the tracer was asked".to_owned()),
        Err(error) => Answer::of_error("ptrace", &error, &[libc::EINVAL, libc::EPERM]),
    }
}
