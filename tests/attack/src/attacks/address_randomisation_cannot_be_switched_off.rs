//! A program without it is easier to take over.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;
use crate::field::Field;

const ADDR_NO_RANDOMIZE: u64 = 0x0004_0000;
const READ_IMPLIES_EXEC: u64 = 0x0040_0000;

pub(crate) const ATTACK: Attack = Attack {
    id: "T047e",
    name: "address_randomisation_cannot_be_switched_off",
    holds: "no execution domain without protections can be entered",
    attempt: |field: &Field| {
        let domains = [ADDR_NO_RANDOMIZE, READ_IMPLIES_EXEC, ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC];
        Answer::all(
            field,
            domains.map(|domain| {
                Answer::of(&format!("personality {domain:x}"), polder_sys::attempt::personality(domain), NO_CALL)
            }),
        )
    },
    ..Attack::PLAIN
};
