//! Changes that look like work and run on the host later: the next push, the next `cd`, the next editor.

use super::host_apply::{apply, must_be_held, must_be_taken};
use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Decides, Refusal};
use crate::field::Field;
use std::fs;

const EXECUTED: [&str; 6] = [
    ".github/workflows/build.yml",
    ".envrc",
    ".vscode/tasks.json",
    ".mcp.json",
    ".husky/pre-push",
    "tools/hooks/post-merge",
];

pub(crate) const ATTACK: Attack = Attack {
    id: "T032a",
    name: "what_the_host_would_execute_is_not_applied",
    holds: "an apply of everything leaves out what the host would execute later, and says so",
    bait: |stage| {
        stage.file("ws/README", "x")?;
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.cow(),
    attempt,
    refusal: Refusal::Holds,
    // Inside, all of it works: it is held back when it is taken out.
    decides: Decides::JudgeAlone,
    judge: |stage, _| {
        let applied = apply(stage)?;
        must_be_taken(&applied, "README")?;
        EXECUTED.iter().try_for_each(|path| {
            must_be_held(&applied, path)?;
            stage.must_not_exist(&format!("ws/{path}"))
        })
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let make = |name: &str| {
        let path = field.workspace(name);
        path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, "#!/bin/sh\n"))
    };
    let made = EXECUTED.map(|name| Answer::of(name, make(name), DENIED));
    let honest = Answer::of("README", make("README"), DENIED);
    Answer::each_reached(made.into_iter().chain([honest]))
}
