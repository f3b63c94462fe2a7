//! `mkdir x; mv x .git`.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{EXCHANGE, rename};

pub(crate) const ATTACK: Attack = Attack {
    id: "T018d",
    name: "a_reserved_name_cannot_be_made_by_renaming",
    holds: "a protected name that does not exist yet cannot be made by renaming or exchanging",
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if let Err(error) = std::fs::write(field.workspace("innocent"), "gitdir: elsewhere") {
        return Answer::Broken(format!("cannot even make an ordinary file: {error}"));
    }
    let (git, dir, other) = (field.workspace(".git"), field.workspace("dir"), field.workspace("other"));
    if std::fs::create_dir(&dir).is_err() || std::fs::create_dir(&other).is_err() {
        return Answer::Broken("cannot make ordinary directories".to_owned());
    }
    let renamed = rename(&dir, &git, 0);
    // Where the name could be made, an exchange can be tried; inside there is nothing to exchange with.
    let exchanged = rename(&other, &git, EXCHANGE);
    Answer::all(
        field,
        [
            Answer::of("rename", renamed, DENIED),
            Answer::of("exchange", exchanged, &[libc::EPERM, libc::EACCES, libc::ENOENT]),
        ],
    )
}
