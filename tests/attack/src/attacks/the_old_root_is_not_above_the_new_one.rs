//! pivot_root(2) stacks the old root on the new one, where `/..` finds it until it is detached.

use crate::answer::{Answer, HIDDEN};
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T203c",
    name: "the_old_root_is_not_above_the_new_one",
    holds: "no number of `..` leads from the root of the sandbox to that of the host",
    bait: |stage| {
        let path = stage.file("beside/secret", "secret")?;
        stage.tell("secret", path.display());
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let secret = field.word("secret");
    Answer::all(
        field,
        ["/..", "/../..", "/proc/self/root/..", "/tmp/../.."].map(|way| {
            let path = format!("{way}{secret}");
            Answer::of(&path, std::fs::read(&path), HIDDEN)
        }),
    )
}
