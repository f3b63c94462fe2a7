//! O_TMPFILE makes a file without a name, and linkat gives it one.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{link_descriptor, link_empty_path, open};
use std::os::fd::AsFd;

pub(crate) const ATTACK: Attack = Attack {
    id: "T018e",
    name: "a_reserved_name_cannot_be_given_to_an_open_file",
    holds: "a protected name that does not exist yet cannot be made by naming an open file",
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if let Err(error) = std::fs::write(field.workspace("innocent"), "gitdir: elsewhere") {
        return Answer::Broken(format!("cannot even make an ordinary file: {error}"));
    }
    let git = field.workspace(".git");
    let nameless = match open(&field.workspace(""), libc::O_TMPFILE | libc::O_WRONLY, 0o644) {
        Ok(file) => file,
        Err(error) => return Answer::Lacking(format!("no files without a name here: {error}")),
    };
    let linked = link_descriptor(nameless.as_fd(), &git);
    let _ = std::fs::remove_file(&git);
    let by_path = link_empty_path(nameless.as_fd(), &git);
    let mut answers = vec![Answer::of("linkat by /proc", linked, &[libc::EPERM, libc::EACCES])];
    // Before 6.10 the kernel keeps this way to root.
    if by_path.as_ref().err().and_then(std::io::Error::raw_os_error) != Some(libc::ENOENT) || !field.is_control() {
        answers.push(Answer::of("linkat by descriptor", by_path, DENIED));
    }
    Answer::all(field, answers)
}
