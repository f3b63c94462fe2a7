//! The kernel marks a renamed directory of a layer with an attribute that says where its content lies. A command that
//! forges the mark would read a hidden directory under another name, one run later.

use crate::answer::{Answer, HIDDEN};
use crate::attack::{Attack, Refusal};
use crate::field::Field;
use polder_sys::attempt::{mknod, set_attribute};
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T026a",
    name: "a_forged_mark_in_a_layer_reveals_nothing",
    holds: "marks of layers that a command forges are not obeyed by the next run in the same workspace",
    bait: |stage| {
        stage.file("ws/hidden/secret", "secret")?;
        stage.file("ws/other/file", "x")?;
        let policy = "sandboxes: {strict: {deny_read: [hidden]}}\nsandbox: strict\n";
        stage.file("strict.yaml", policy)?;
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.workspace("w").with_configuration_file(stage.root.join("strict.yaml")),
    attempt,
    run: |_, _, sandbox, command| {
        // The marks are read when the layers are laid, so it takes a second run to obey them.
        let _ = sandbox.plan(command.clone())?.run()?;
        sandbox.plan(command)?.run()
    },
    refusal: Refusal::Holds,
    judge: |stage, _| stage.must_say("ws/other/file", "x"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let read = |below: &str| Answer::of(below, fs::read(field.workspace(below)), HIDDEN);
    if field.is_control() {
        return read("hidden/secret");
    }
    // Whatever comes of these: what counts is what can be read in the end.
    for name in ["forged", "other"] {
        let path = field.workspace(name);
        let _ = fs::create_dir(&path);
        for (mark, value) in [
            (c"user.overlay.redirect", &b"hidden"[..]),
            (c"user.overlay.opaque", b"n"),
            (c"user.overlay.overlay.redirect", b"hidden"),
            (c"trusted.overlay.redirect", b"hidden"),
        ] {
            let _ = set_attribute(&path, mark, value);
        }
    }
    let _ = mknod(&field.workspace("whiteout"), libc::S_IFCHR, 0);
    Answer::all(field, ["forged/secret", "other/secret", "hidden/secret"].map(read))
}
