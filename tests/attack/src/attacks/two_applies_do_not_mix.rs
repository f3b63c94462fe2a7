//! Two workspaces of one tree with changes of the same files are applied at once, and a lock says that a process has it which
//! is gone, or is another one by now.

use super::host_apply::{store, workspace};
use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Decides, Refusal};
use crate::field::Field;
use crate::stage::Stage;
use polder_workspace::{ApplyError, Begin, Choice, Mode, Unwatched, Verdict, Workspace};
use std::fs;

const FILES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

pub(crate) const ATTACK: Attack = Attack {
    id: "T030a",
    name: "two_applies_do_not_mix",
    holds: "of two applies of the same files one wins each file and the other is told, and a stale lock holds nobody up",
    bait: |stage| {
        for name in FILES {
            stage.file(&format!("ws/{name}"), "before")?;
        }
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.cow(),
    attempt,
    refusal: Refusal::Holds,
    decides: Decides::JudgeAlone,
    judge,
    ..Attack::PLAIN
};

fn judge(stage: &Stage, _: &polder::Finished) -> Result<(), String> {
    let first = workspace(stage)?;
    let store = store(stage)?;
    let name = Some("second".parse().map_err(|_| "a name")?);
    let parent = Some(first.name().clone());
    let begin = Begin { root: &stage.workspace, name, mode: Mode::Cow, parent, capture: None };
    let second = store.begin(begin).map_err(|error| error.to_string())?;
    for name in FILES {
        fs::write(second.layers().upper.join(name), "second").map_err(|error| error.to_string())?;
    }
    // The number in a lock is for people: this one is that of a process which has nothing to do with it.
    for workspace in [&first, &second] {
        fs::write(workspace.place().join("lock"), "1").map_err(|error| error.to_string())?;
    }
    let apply = |workspace: &Workspace| -> Result<usize, String> {
        let applied = match workspace.apply(&Choice::everything(), &mut Unwatched) {
            Ok(applied) => applied,
            // The other was at work on the same files: all of this one is left out.
            Err(ApplyError::NotApplied { .. }) => return Ok(0),
            Err(other) => return Err(other.to_string()),
        };
        Ok(applied.items.iter().filter(|(_, verdict)| *verdict == Verdict::Taken).count())
    };
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| apply(&first));
        let other = scope.spawn(|| apply(&second));
        (one.join().map_err(|_| "a panic"), other.join().map_err(|_| "a panic"))
    });
    let (one, other) = (one??, other??);
    for name in FILES {
        let content = stage.content(&format!("ws/{name}"));
        if !["first", "second"].contains(&content.as_str()) {
            return Err(format!("`{name}` has neither of the two: {content:?}"));
        }
    }
    let left = |name: &str| FILES.iter().filter(|file| stage.content(&format!("ws/{file}")) == name).count();
    // Whoever comes later is told that the file changed meanwhile. What both took, the later one has overwritten unseen.
    if (left("first"), left("second")) != (one, other) {
        let (first, second) = (left("first"), left("second"));
        return Err(format!("{one} and {other} were told as applied, and {first} and {second} are there"));
    }
    Ok(())
}

fn attempt(field: &Field) -> Answer {
    let written = FILES.map(|name| Answer::of(name, fs::write(field.workspace(name), "first"), DENIED));
    Answer::each_reached(written)
}
