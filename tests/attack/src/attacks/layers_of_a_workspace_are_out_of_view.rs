//! A layer that can be reached as a directory could be changed behind the kernel's back.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T213",
    name: "layers_of_a_workspace_are_out_of_view",
    holds: "of a workspace of layers, only the workspace itself is mounted inside",
    bait: |stage| {
        stage.file("ws/file", "tree")?;
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.cow().discard(),
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    if field.is_control() {
        return Answer::of("the tree itself", std::fs::write(field.workspace("file"), "changed"), &[]);
    }
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let places: Vec<&str> = table.lines().filter_map(|line| line.split(' ').nth(4)).collect();
    let workspace = field.workspace("").display().to_string();
    match places.iter().find(|place| place.starts_with("/run/polder/") && !place.contains("hidden")) {
        Some(place) => Answer::Reached(format!("{place} is mounted")),
        None if places.contains(&workspace.as_str()) => Answer::Blocked(format!("{} mounts", places.len())),
        None => Answer::Broken("no workspace in /proc/self/mountinfo".to_owned()),
    }
}
