//! The observer looks at a path and lets the call go on, and meanwhile the path is another one. It decides nothing, so that
//! spoils a report and nothing else.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::race;

const ROUNDS: usize = 2000;
/// Without an observer a round is short, and the path may happen not to change in many of them.
const ROUNDS_CONTROL: usize = 500_000;

pub(crate) const ATTACK: Attack = Attack {
    id: "T034g",
    name: "a_memory_race_does_not_fool_the_observer",
    holds: "changing the path in memory while the observer looks at a call opens nothing that is closed",
    bait: |stage| {
        let beside = stage.file("beside/there", "x")?;
        stage.tell("new", beside.with_file_name("new").display());
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.observe("exact"),
    attempt,
    judge: |stage, _| stage.must_not_exist("beside/new"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let target = field.path("new");
    let base = field.workspace("");
    // Both names must be equally long.
    let Some(length) = target.as_os_str().len().checked_sub(base.as_os_str().len() + 1).filter(|length| *length > 0)
    else {
        return Answer::Lacking("the path of the bait is too short".to_owned());
    };
    let innocent = base.join("o".repeat(length));
    let rounds = if field.is_control() { ROUNDS_CONTROL } else { ROUNDS };
    let mut made = 0;
    let won = race(&innocent, &target, rounds, &mut || {
        if std::fs::symlink_metadata(&target).is_ok() {
            return true;
        }
        made += usize::from(std::fs::remove_file(&innocent).is_ok());
        false
    });
    match won {
        Ok(true) => Answer::Reached("a file came into being outside".to_owned()),
        Ok(false) if made == 0 => Answer::Broken("the innocent name was never made".to_owned()),
        Ok(false) => Answer::Blocked(format!("{made} of {rounds} rounds made the innocent name, none the other")),
        Err(error) => Answer::Broken(error.to_string()),
    }
}
