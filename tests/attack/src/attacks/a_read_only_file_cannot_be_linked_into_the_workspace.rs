//! A second name in a writable directory would make a read-only file writable.

use crate::answer::{Answer, PINNED};
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T005a",
    name: "a_read_only_file_cannot_be_linked_into_the_workspace",
    holds: "a file of a read-only bind gets no second name in the writable workspace",
    bait: |stage| {
        let path = stage.file("lib/file", "library")?;
        stage.tell("file", path.display());
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.bind(stage.root.join("lib").display().to_string()),
    attempt,
    judge: |stage, _| stage.must_say("lib/file", "library"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let (from, to) = (field.path("file"), field.workspace("name"));
    let link = std::fs::hard_link(&from, &to).and_then(|()| std::fs::write(&to, "changed"));
    let by_descriptor = std::fs::File::open(&from).and_then(|file| {
        let other = field.workspace("other");
        polder_sys::attempt::link_descriptor(std::os::fd::AsFd::as_fd(&file), &other)
    });
    Answer::all(field, [Answer::of("link", link, PINNED), Answer::of("link a descriptor", by_descriptor, PINNED)])
}
