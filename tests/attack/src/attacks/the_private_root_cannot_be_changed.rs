//! Above what is shown lies the private root, whose directories belong to the command's user.

use crate::answer::{Answer, READ_ONLY};
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T203d",
    name: "the_private_root_cannot_be_changed",
    holds: "nothing can be made in the directories above what is shown",
    bait: |stage| {
        stage.file("lib/file", "library")?;
        let above = stage.root.display().to_string();
        stage.tell("above", above);
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.bind(format!("{}:/opt/shown/lib", stage.root.join("lib").display())),
    attempt: |field: &Field| {
        let above = field.shown("above", "/opt/shown");
        let blocked = [READ_ONLY, &[libc::ENOENT]].concat();
        Answer::all(
            field,
            [
                Answer::of("mkdir", std::fs::create_dir(above.join("made")), &blocked),
                Answer::of("create", std::fs::write(above.join("file"), ""), &blocked),
                Answer::of("rename", std::fs::rename(above.join("made"), above.join("moved")), &blocked),
            ],
        )
    },
    ..Attack::PLAIN
};
