//! `**/NAME` holds in directories that do not exist yet, too.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T018q",
    name: "a_name_reserved_everywhere_cannot_be_made_anywhere",
    holds: "a name that is protected at every depth can be made at no depth, nor elsewhere and moved in",
    bait: |stage| {
        stage.file("protect.yaml", "sandboxes: {a: {protect: [\"**/.envrc\"]}}\nsandbox: a\n")?;
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.with_configuration_file(stage.root.join("protect.yaml")),
    attempt,
    judge: |stage, _| {
        for path in ["ws/.envrc", "ws/a/b/.envrc", "ws/moved/.envrc"] {
            stage.must_not_exist(path)?;
        }
        Ok(())
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let deep = field.workspace("a/b");
    let aside = field.workspace("aside");
    if fs::create_dir_all(&deep).is_err() || fs::create_dir_all(&aside).is_err() {
        return Answer::Broken("cannot make ordinary directories".to_owned());
    }
    let moved = fs::write(aside.join(".envrc"), "x").and_then(|()| fs::rename(&aside, field.workspace("moved")));
    Answer::all(
        field,
        [
            Answer::of("at the top", fs::write(field.workspace(".envrc"), "x"), DENIED),
            Answer::of("in a new directory", fs::write(deep.join(".envrc"), "x"), DENIED),
            Answer::of("in a directory that is moved", moved, DENIED),
            Answer::of("as a directory", fs::create_dir(field.workspace("a/.envrc")), DENIED),
        ],
    )
}
