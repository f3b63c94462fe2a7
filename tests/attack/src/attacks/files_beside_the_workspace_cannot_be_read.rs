//! The next project in the same directory.

use crate::answer::{Answer, HIDDEN};
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T001b",
    name: "files_beside_the_workspace_cannot_be_read",
    holds: "what lies beside the workspace is not readable, by whatever path",
    bait: |stage| {
        let path = stage.file("sibling/secret", "secret")?;
        stage.tell("secret", path.display());
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let paths = [field.path("secret"), field.workspace("../sibling/secret"), "../sibling/secret".into()];
    Answer::all(field, paths.map(|path| Answer::of(&path.display().to_string(), std::fs::read(&path), HIDDEN)))
}
