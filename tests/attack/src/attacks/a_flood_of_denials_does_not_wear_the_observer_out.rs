//! More different denials than the observer keeps, and then the one that matters.

use crate::answer::{Answer, HIDDEN};
use crate::attack::Attack;
use crate::field::Field;
use polder::Ending;
use std::fs;

/// More than are kept of one run, several times over.
const DENIALS: usize = 5000;
/// What may be told of them one by one.
const EVENTS_MAX: usize = 1200;

pub(crate) const ATTACK: Attack = Attack {
    id: "T035c",
    name: "a_flood_of_denials_does_not_wear_the_observer_out",
    holds: "after more denials than are kept everything is as closed as before, and few of them are told",
    bait: |stage| {
        let secret = stage.file("beside/secret", "secret")?;
        for number in 0..20 {
            stage.file(&format!("beside/{number}"), "x")?;
        }
        stage.tell("secret", secret.display());
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.observe("exact"),
    attempt,
    judge: |_, finished| {
        if finished.outcome.ending != Ending::Exited(0) {
            return Err(format!("the run ended as {:?}", finished.outcome.ending));
        }
        let told = finished.events.len();
        if told > EVENTS_MAX { Err(format!("{told} events were told")) } else { Ok(()) }
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let secret = field.path("secret");
    for number in 0..DENIALS {
        // Some are there on the host and some are not; none is there inside.
        let _ = fs::read(secret.with_file_name(number.to_string()));
        let _ = fs::create_dir(secret.with_file_name("new").join(number.to_string()));
    }
    Answer::of("read", fs::read(&secret), HIDDEN)
}
