//! Keys of the user, shared with every process of the host that has the same user.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{add_key, revoke_key, session_keyring};

pub(crate) const ATTACK: Attack = Attack {
    id: "T047d",
    name: "keyrings_are_not_there",
    holds: "the user's keys can be neither read nor changed",
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let added = add_key();
    if let Ok(key) = added {
        revoke_key(key);
    }
    Answer::all(field, [Answer::of("add_key", added, NO_CALL), Answer::of("keyctl", session_keyring(), NO_CALL)])
}
