//! A repository may come with links that point anywhere.

use crate::answer::{Answer, HIDDEN};
use crate::attack::Attack;
use crate::field::Field;
use std::os::unix::fs::symlink;

pub(crate) const ATTACK: Attack = Attack {
    id: "T006a",
    name: "a_symlink_in_the_workspace_does_not_lead_out",
    holds: "links and chains of links in the workspace lead to nothing that is not in view",
    bait: |stage| {
        let secret = stage.file("home/.ssh/id", "secret")?;
        symlink(secret, stage.workspace.join("link"))?;
        symlink("link", stage.workspace.join("chain"))?;
        symlink("../home", stage.workspace.join("dir"))?;
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let read = |name: &str| Answer::of(name, std::fs::read(field.workspace(name)), HIDDEN);
    Answer::all(field, ["link", "chain", "dir/.ssh/id"].map(read))
}
