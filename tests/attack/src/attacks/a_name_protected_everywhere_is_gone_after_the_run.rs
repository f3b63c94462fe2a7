//! `**/NAME` holds in directories that do not exist yet, too: what is new is set aside when the run has ended.

use crate::answer::Answer;
use crate::attack::{Attack, Decides};
use crate::field::Field;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const PLACES: [&str; 6] =
    ["ws/.envrc", "ws/a/b/.envrc", "ws/moved/.envrc", "ws/a/c/.envrc", "ws/closed/.envrc", "ws/.ENVRC"];

pub(crate) const ATTACK: Attack = Attack {
    id: "T018q",
    name: "a_name_protected_everywhere_is_gone_after_the_run",
    holds: "a name that is protected at every depth is left at no depth, however its directory was made or closed",
    bait: |stage| {
        stage.file("protect.yaml", "sandboxes: {a: {protect: [\"**/.envrc\"]}}\nsandbox: a\n")?;
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.with_configuration_file(stage.root.join("protect.yaml")),
    attempt,
    decides: Decides::JudgeAlone,
    judge: |stage, finished| {
        if finished.outcome.exit_code() != 0 {
            return Err(format!("no answer from inside: {:?}", finished.outcome.ending));
        }
        stage.must_say("ws/witness", "x")?;
        PLACES.iter().try_for_each(|path| stage.must_not_exist(path))
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let made = || {
        for directory in ["a/b", "a/c", "aside", "closed"] {
            fs::create_dir_all(field.workspace(directory))?;
        }
        for path in [".envrc", ".ENVRC", "a/b/.envrc", "aside/.envrc", "closed/.envrc", "witness"] {
            fs::write(field.workspace(path), "x")?;
        }
        fs::rename(field.workspace("aside"), field.workspace("moved"))?;
        fs::create_dir(field.workspace("a/c/.envrc"))?;
        fs::set_permissions(field.workspace("closed"), fs::Permissions::from_mode(0o0))
    };
    match made() {
        Ok(()) => Answer::Reached("all of them are made".to_owned()),
        Err(error) => Answer::Broken(error.to_string()),
    }
}
