//! Somebody edits a file, replaces one and removes one while the command works on its own copies of them.

use super::host_apply::{apply, must_be_taken};
use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Decides, Refusal};
use crate::field::Field;
use std::fs;

const EDITED: [&str; 3] = ["edited", "replaced", "removed"];

pub(crate) const ATTACK: Attack = Attack {
    id: "T028a",
    name: "an_edit_of_the_host_is_not_overwritten",
    holds: "a file that the host changed since the run began is not overwritten by an apply of everything",
    bait: |stage| {
        for name in EDITED.iter().chain(&["free"]) {
            stage.file(&format!("ws/{name}"), "before")?;
        }
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.cow(),
    attempt,
    run: |stage, _, sandbox, command| {
        let finished = sandbox.plan(command)?.run()?;
        let edited = stage.file("ws/edited", "host").and_then(|_| stage.file("ws/fresh", "host"));
        let edited = edited.and_then(|fresh| fs::rename(fresh, stage.workspace.join("replaced")));
        let edited = edited.and_then(|()| fs::remove_file(stage.workspace.join("removed")));
        assert!(edited.is_ok(), "the tree is ours to edit");
        Ok(finished)
    },
    refusal: Refusal::Holds,
    decides: Decides::JudgeAlone,
    judge: |stage, _| {
        let applied = apply(stage)?;
        must_be_taken(&applied, "free")?;
        stage.must_say("ws/free", "command")?;
        stage.must_say("ws/edited", "host")?;
        stage.must_say("ws/replaced", "host")?;
        stage.must_not_exist("ws/removed")
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let write = |name: &&str| Answer::of(name, fs::write(field.workspace(name), "command"), DENIED);
    let written: Vec<Answer> = EDITED.iter().chain(&["free"]).map(write).collect();
    if field.is_control() {
        return Answer::all(field, written);
    }
    Answer::Reached("written in the layer".to_owned())
}
