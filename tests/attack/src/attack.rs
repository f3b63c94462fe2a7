//! The shape of an attack.

use crate::answer::Answer;
use crate::field::Field;
use crate::stage::{Missing, Stage};
use polder::{Error, Finished, Sandbox};
use std::ffi::OsString;
use std::fs::File;
use std::io;

/// One attack. `Attack { id, name, holds, attempt, ..Attack::PLAIN }` is the whole of a simple one.
#[derive(Clone, Copy)]
pub(crate) struct Attack {
    /// Its number in the list of attacks, with a letter where one number has several.
    pub(crate) id: &'static str,
    /// What must hold, as a name.
    pub(crate) name: &'static str,
    /// What must hold, as a sentence.
    pub(crate) holds: &'static str,
    /// Prepares the host side.
    pub(crate) bait: fn(&mut Stage) -> Result<(), Missing>,
    /// What the sandbox is told beside the workspace.
    pub(crate) sandbox: fn(&Stage, Sandbox) -> Sandbox,
    /// Tries to reach the bait; the same code outside and inside.
    pub(crate) attempt: fn(&Field) -> Answer,
    /// Where the control runs.
    pub(crate) control: Control,
    /// The attempt's standard input; nothing where absent.
    pub(crate) input: fn(&Stage) -> io::Result<Option<File>>,
    /// Starts the sandboxed attempt.
    pub(crate) run: Run,
    /// What it means when the sandbox does not start.
    pub(crate) refusal: Refusal,
    /// Who decides what came of the sandboxed attempt.
    pub(crate) decides: Decides,
    /// Looks at the host afterwards; an error says what was reached.
    pub(crate) judge: fn(&Stage, &Finished) -> Result<(), String>,
}

/// How a sandboxed attempt is started: on a stage, with an input, in a sandbox, with a command.
pub(crate) type Run = fn(&Stage, Option<File>, Sandbox, Vec<OsString>) -> Result<Finished, Error>;

/// Where the attempt without a sandbox runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// As the caller.
    Caller,
    /// As the root of a user namespace of its own, with a mount namespace, because the caller may lack the rights.
    NamespaceRoot,
}

/// What it means when the sandbox does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The attack was not made, which shows nothing.
    ShowsNothing,
    /// That is how it holds.
    Holds,
}

/// Who decides what came of the sandboxed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decides {
    /// The attempt has to say that it was blocked, and the judge has to agree.
    AttemptAndJudge,
    /// Only the judge: the attempt may be killed, or cannot know.
    JudgeAlone,
}

impl Attack {
    /// What an attack leaves out.
    pub(crate) const PLAIN: Self = Self {
        id: "",
        name: "",
        holds: "",
        bait: |_| Ok(()),
        sandbox: |_, sandbox| sandbox,
        attempt: |_| Answer::Broken("no attempt".to_owned()),
        control: Control::Caller,
        input: |_| Ok(None),
        run: run_once,
        refusal: Refusal::ShowsNothing,
        decides: Decides::AttemptAndJudge,
        judge: |_, _| Ok(()),
    };
}

/// One run, with the attack's input.
pub(crate) fn run_once(
    stage: &Stage,
    input: Option<File>,
    sandbox: Sandbox,
    command: Vec<OsString>,
) -> Result<Finished, Error> {
    let _ = stage;
    let planned = sandbox.plan(command)?;
    match input {
        Some(input) => planned.run_with_input(input.into()),
        None => planned.run(),
    }
}

/// The attack of this number.
pub(crate) fn find(id: &str) -> Option<Attack> {
    crate::attacks::ALL.iter().find(|attack| attack.id == id).copied()
}
