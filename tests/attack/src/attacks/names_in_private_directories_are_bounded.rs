//! Empty files have no size and use memory all the same.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::fs::File;

const WANTED: usize = 6000;

pub(crate) const ATTACK: Attack = Attack {
    id: "T040f",
    name: "names_in_private_directories_are_bounded",
    holds: "the private file systems hold no more names than their size allows",
    bait: |stage| {
        let spill = stage.root.join("spill");
        std::fs::create_dir(&spill)?;
        stage.tell("spill", spill.display());
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.disk("8M"),
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let place = if field.is_control() { field.path("spill") } else { "/tmp".into() };
    for number in 0..WANTED {
        if let Err(error) = File::create(place.join(number.to_string())) {
            return Answer::of_error(&format!("{number} names"), &error, &[libc::ENOSPC]);
        }
    }
    Answer::Reached(format!("{WANTED} names"))
}
