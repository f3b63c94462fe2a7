//! The path is swapped in memory between the look and the call.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{RaceCall, race};

const ROUNDS: usize = 2000;
/// Without a guard a round is short, and the path may happen not to change in many of them.
const ROUNDS_CONTROL: usize = 500_000;

pub(crate) const ATTACK: Attack = Attack {
    id: "T018n",
    name: "a_memory_race_on_link_does_not_fool_the_guard",
    holds: "changing the path in memory while the guard of missing protected names looks at a link does not fool it",
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git"),
    ..Attack::PLAIN
};

const RACES_MAX: usize = 50;

fn attempt(field: &Field) -> Answer {
    let (git, other, donor) = (field.workspace(".git"), field.workspace("ogit"), field.workspace("donor"));
    if let Err(error) = std::fs::write(&donor, "x") {
        return Answer::Broken(format!("cannot make an ordinary file: {error}"));
    }
    let rounds = if field.is_control() { ROUNDS_CONTROL } else { ROUNDS };
    let mut innocent = 0;
    let mut won = Ok(false);
    // On a busy machine the other thread may not get its turn in all rounds of a race.
    for _ in 0..RACES_MAX {
        won = race(&other, &git, &donor, RaceCall::Link, rounds, &mut || {
            if std::fs::symlink_metadata(&git).is_ok() {
                return true;
            }
            innocent += usize::from(std::fs::remove_file(&other).is_ok());
            false
        });
        if innocent > 0 || !matches!(won, Ok(false)) {
            break;
        }
    }
    match won {
        Ok(true) => Answer::Reached("the name came into being".to_owned()),
        Ok(false) if innocent == 0 => Answer::Broken("the innocent name was never made".to_owned()),
        Ok(false) => Answer::Blocked(format!("{innocent} of {rounds} rounds made the innocent name, none the other")),
        Err(error) => Answer::Broken(error.to_string()),
    }
}
