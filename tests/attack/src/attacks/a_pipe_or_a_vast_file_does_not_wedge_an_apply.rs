//! What a reader of the layer could hang or choke on: a pipe without a writer, a file of a terabyte of nothing, a link to
//! itself.

use super::host_apply::{apply, must_be_taken};
use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Decides, Refusal};
use crate::field::Field;
use std::fs;
use std::os::unix::fs::symlink;

pub(crate) const ATTACK: Attack = Attack {
    id: "T023d",
    name: "a_pipe_or_a_vast_file_does_not_wedge_an_apply",
    holds: "an apply ends and takes the honest change, whatever else lies in the layer; no pipe and no device comes out",
    sandbox: |_, sandbox| sandbox.cow(),
    attempt,
    refusal: Refusal::Holds,
    decides: Decides::JudgeAlone,
    judge: |stage, _| {
        let applied = apply(stage)?;
        must_be_taken(&applied, "honest")?;
        stage.must_say("ws/honest", "work")?;
        stage.must_not_exist("ws/pipe")
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let vast = fs::File::create(field.workspace("vast")).and_then(|file| file.set_len(1 << 40));
    let made = [
        Answer::of("mkfifo", polder_sys::attempt::mknod(&field.workspace("pipe"), libc::S_IFIFO | 0o644, 0), DENIED),
        Answer::of("a vast file", vast, DENIED),
        Answer::of("a loop", symlink("loop", field.workspace("loop")), DENIED),
        Answer::of("honest", fs::write(field.workspace("honest"), "work"), DENIED),
    ];
    if field.is_control() {
        return Answer::all(field, made);
    }
    Answer::Reached("made in the layer".to_owned())
}
