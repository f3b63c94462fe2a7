//! Files that tools on the host obey without being asked, none of which the built-in policy protects by name.

use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Decides, Refusal};
use crate::field::Field;
use std::fs;

const OBEYED: [&str; 9] = [
    ".mcp.json",
    ".claude/settings.json",
    ".vscode/tasks.json",
    ".envrc",
    ".npmrc",
    ".cargo/config.toml",
    "venv/pyvenv.cfg",
    "conftest.py",
    "Makefile.local",
];

pub(crate) const ATTACK: Attack = Attack {
    id: "T018s",
    name: "files_made_in_a_layer_do_not_reach_the_tree",
    holds: "where changes are kept apart, nothing that the command makes, changes or removes reaches the tree",
    bait: |stage| {
        stage.file("ws/Makefile", "all:\n")?;
        stage.file("ws/removed", "here\n")?;
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.cow(),
    attempt,
    refusal: Refusal::Holds,
    // Inside, all of it works: that is what the layer is for.
    decides: Decides::JudgeAlone,
    judge: |stage, _| {
        for name in OBEYED {
            stage.must_not_exist(&format!("ws/{name}"))?;
        }
        stage.must_say("ws/Makefile", "all:\n")?;
        stage.must_say("ws/removed", "here\n")
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let make = |name: &str| {
        let path = field.workspace(name);
        path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, "x"))
    };
    let made = OBEYED.map(|name| Answer::of(name, make(name), DENIED));
    let changed = [
        Answer::of("change", fs::write(field.workspace("Makefile"), "x"), DENIED),
        Answer::of("remove", fs::remove_file(field.workspace("removed")), DENIED),
    ];
    Answer::each_reached(made.into_iter().chain(changed))
}
