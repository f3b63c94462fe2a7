//! What one run leaves in its private directories is not there for the next.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T089",
    name: "one_run_does_not_see_the_scratch_of_another",
    holds: "files in /tmp, /dev/shm and the home of one run are not there in the next",
    bait: |stage| {
        let mark = format!("polder-attack-mark-{}", std::process::id());
        stage.tell("mark", mark);
        Ok(())
    },
    attempt,
    run: |_, _, sandbox, command| {
        let first = sandbox.plan(command.clone())?.run()?;
        let second = sandbox.plan(command)?.run()?;
        // The first has to have left something, or the second shows nothing.
        Ok(if first.outcome.success() { second } else { first })
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let mark = field.word("mark");
    let places = [format!("/tmp/{mark}"), format!("/dev/shm/{mark}"), field.home(mark).display().to_string()];
    let leave = || places.iter().try_for_each(|place| fs::write(place, "x"));
    let found = || places.iter().find(|place| fs::metadata(place).is_ok());
    if field.is_control() {
        // Without a sandbox the second look finds what the first left.
        let left = leave();
        let seen = found().is_some();
        let _ = places.iter().map(fs::remove_file).count();
        return if left.is_ok() && seen {
            Answer::Reached("found".to_owned())
        } else {
            Answer::Broken(format!("{left:?}"))
        };
    }
    match (found(), leave()) {
        (Some(place), _) => Answer::Reached(format!("`{place}` is still there")),
        (None, Ok(())) => Answer::Blocked("nothing is there".to_owned()),
        (None, Err(error)) => Answer::Broken(error.to_string()),
    }
}
