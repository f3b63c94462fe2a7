//! The protection is on the name; a second name would be without it.

use crate::answer::{Answer, PINNED};
use crate::attack::Attack;
use crate::field::Field;
use crate::stage::GIT_CONFIG;

pub(crate) const ATTACK: Attack = Attack {
    id: "T005b",
    name: "a_protected_file_gets_no_second_name",
    holds: "a protected file cannot be linked to a name that is writable",
    bait: |stage| Ok(stage.repository()?),
    attempt,
    judge: |stage, _| stage.must_say("ws/.git/config", GIT_CONFIG),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let (from, to) = (field.workspace(".git/config"), field.workspace("name"));
    let link = std::fs::hard_link(&from, &to).and_then(|()| std::fs::write(&to, "changed"));
    Answer::of("link and write", link, PINNED)
}
