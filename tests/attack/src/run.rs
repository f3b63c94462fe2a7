//! Running attacks: one process per attack, and one verdict.

use crate::answer::Answer;
use crate::attack::{self, Attack, Decides, Refusal};
use crate::attacks;
use crate::hidden::HIDDEN_ARGUMENT;
use crate::stage::{Missing, Stage};
use polder::{Availability, Finished, Report, Sandbox};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The longest that one attack may take with its control.
const ATTACK_TIME_MAX: Duration = Duration::from_secs(60);
/// Where the executable of the attempts appears inside.
const PAYLOAD_INSIDE: &str = "/opt/polder-attack";

/// What came of one attack on one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The engine's id.
    pub engine: String,
    /// The attack's number.
    pub id: String,
    /// What must hold, as a name.
    pub name: String,
    /// What must hold, as a sentence.
    pub holds: String,
    /// Whether it did.
    pub outcome: Outcome,
    /// With the control and everything else.
    pub took: Duration,
}

/// Whether a sandbox held against an attack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The bait was reached without the sandbox and not from inside.
    Held(String),
    /// The bait was reached from inside.
    Escaped(String),
    /// The bait cannot be reached here even without a sandbox, or the engine refuses the policy.
    NotApplicable(String),
    /// The attack itself went wrong, which shows nothing and counts as a failure.
    Broken(String),
}

impl Outcome {
    /// The word in reports.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Held(_) => "held",
            Self::Escaped(_) => "ESCAPED",
            Self::NotApplicable(_) => "not applicable",
            Self::Broken(_) => "BROKEN",
        }
    }

    /// How it came to that.
    pub fn detail(&self) -> &str {
        match self {
            Self::Held(detail) | Self::Escaped(detail) | Self::NotApplicable(detail) | Self::Broken(detail) => detail,
        }
    }

    /// Whether this must fail a test.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Escaped(_) | Self::Broken(_))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.word(), self.detail())
    }
}

/// An attack of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its number.
    pub id: &'static str,
    /// What must hold, as a name.
    pub name: &'static str,
    /// What must hold, as a sentence.
    pub holds: &'static str,
}

/// Every attack, in order.
pub fn list() -> Vec<Listed> {
    attacks::ALL.iter().map(|attack| Listed { id: attack.id, name: attack.name, holds: attack.holds }).collect()
}

/// Every engine that contains something, and whether it works here.
pub fn available_engines() -> io::Result<Vec<(String, Availability)>> {
    let here = std::env::temp_dir();
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let host = polder_run::gather(&polder_policy::built_in(), &here, &here, environment).map_err(io::Error::other)?;
    let engines = polder::engines();
    let containing = engines.iter().filter(|engine| engine.class() != polder::EngineClass::None);
    Ok(containing.map(|engine| (engine.id().to_owned(), engine.probe(&host))).collect())
}

/// Runs every attack whose number or name contains `only` on one engine, and tells each verdict as it comes.
pub fn run_all(engine_id: &str, only: Option<&str>, payload: &Path, tell: &mut dyn FnMut(Verdict)) {
    for attack in attacks::ALL {
        let listed = Listed { id: attack.id, name: attack.name, holds: attack.holds };
        if only.is_none_or(|text| listed.id.contains(text) || listed.name.contains(text)) {
            tell(run_one(engine_id, listed, payload));
        }
    }
}

/// Runs one attack on one engine.
pub fn run_one(engine_id: &str, attack: Listed, payload: &Path) -> Verdict {
    run_observed(engine_id, attack, payload, USUAL)
}

/// The same with everything that is denied watched in this way.
pub fn run_observed(engine_id: &str, attack: Listed, payload: &Path, observe: &str) -> Verdict {
    let began = Instant::now();
    let outcome = in_own_process(engine_id, attack.id, payload, observe, &[])
        .unwrap_or_else(|error| Outcome::Broken(error.to_string()));
    Verdict {
        engine: engine_id.to_owned(),
        id: attack.id.to_owned(),
        name: attack.name.to_owned(),
        holds: attack.holds.to_owned(),
        outcome,
        took: began.elapsed(),
    }
}

/// Watched as every run is where nothing is said about it.
pub(crate) const USUAL: &str = "";

/// A directory that goes away again.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("polder-attack-{}-{count}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(fs::canonicalize(path)?))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What an attack left unreadable must not keep its directory alive.
        if fs::remove_dir_all(&self.0).is_err() {
            let _ = Command::new("chmod").args(["-R", "u+rwx"]).arg(&self.0).status();
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Starts the stage of an attack as a process and takes its verdict; ends it when it takes too long.
pub(crate) fn in_own_process(
    engine_id: &str,
    id: &str,
    payload: &Path,
    observe: &str,
    variables: &[(&str, &str)],
) -> io::Result<Outcome> {
    let scratch = Scratch::new()?;
    let mut command = Command::new(payload);
    command.args([HIDDEN_ARGUMENT, "stage", engine_id, id]).arg(payload).arg(&scratch.0).arg(observe);
    command.envs(variables.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir(&scratch.0);
    let mut stage = polder_sys::attempt::die_with_starter(&mut command).spawn()?;
    let collect = |source: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(mut source) = source {
                let _ = source.read_to_end(&mut text);
            }
            text
        })
    };
    let out = collect(stage.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>));
    let err = collect(stage.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>));
    let deadline = Instant::now() + ATTACK_TIME_MAX;
    let status = loop {
        if let Some(status) = stage.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            stage.kill()?;
            stage.wait()?;
            return Ok(Outcome::Broken(format!("no verdict within {} s", ATTACK_TIME_MAX.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
    Ok(read_verdict(&out).unwrap_or_else(|| {
        Outcome::Broken(format!(
            "the stage ended with {status} and no verdict: {}",
            String::from_utf8_lossy(&err).trim()
        ))
    }))
}

fn read_verdict(output: &[u8]) -> Option<Outcome> {
    let text = String::from_utf8_lossy(output);
    let (word, detail) = text.trim_end().rsplit('\n').next()?.split_once(": ")?;
    let detail = detail.to_owned();
    match word {
        "held" => Some(Outcome::Held(detail)),
        "ESCAPED" => Some(Outcome::Escaped(detail)),
        "not applicable" => Some(Outcome::NotApplicable(detail)),
        "BROKEN" => Some(Outcome::Broken(detail)),
        _ => None,
    }
}

/// The whole of one attack, in the process that was started for it: the verdict as one line.
pub(crate) fn on_stage(engine_id: &str, id: &str, payload: &Path, root: &Path, observe: &str) -> String {
    let Some(attack) = attack::find(id) else { return Outcome::Broken(format!("no attack `{id}`")).to_string() };
    let verdict = control(&attack, payload, root).and_then(|()| sandboxed(&attack, engine_id, payload, root, observe));
    verdict.unwrap_or_else(|outcome| outcome).to_string().replace('\n', " ")
}

fn set_stage(attack: &Attack, payload: &Path, root: &Path, side: &str) -> Result<Stage, Outcome> {
    let broken = |error: io::Error| Outcome::Broken(format!("cannot set the stage: {error}"));
    let mut stage = Stage::new(&root.join(side), payload, side).map_err(broken)?;
    match (attack.bait)(&mut stage) {
        Ok(()) => Ok(stage),
        Err(Missing::Lacking(reason)) => Err(Outcome::NotApplicable(reason)),
        Err(Missing::Broken(reason)) => Err(Outcome::Broken(reason)),
    }
}

/// The attempt without a sandbox must reach the bait.
fn control(attack: &Attack, payload: &Path, root: &Path) -> Result<(), Outcome> {
    let stage = set_stage(attack, payload, root, "control")?;
    let mut command = Command::new(payload);
    command.args([HIDDEN_ARGUMENT, "attempt", attack.id]).arg(stage.field().to_text());
    let input = (attack.input)(&stage).map_err(|error| Outcome::Broken(format!("no input: {error}")))?;
    command.stdin(input.map_or_else(Stdio::null, Stdio::from)).stderr(Stdio::piped());
    command.current_dir(&stage.workspace).env_clear().envs(&stage.environment);
    let answered = polder_sys::attempt::die_with_starter(&mut command).output();
    let output = answered.map_err(|error| Outcome::Broken(format!("cannot start the control: {error}")))?;
    match Answer::from_output(&output.stdout) {
        Some(Answer::Reached(_)) => Ok(()),
        Some(Answer::Blocked(detail)) => {
            Err(Outcome::NotApplicable(format!("not to be reached here even without a sandbox: {detail}")))
        }
        Some(Answer::Lacking(reason)) => Err(Outcome::NotApplicable(reason)),
        Some(Answer::Broken(detail)) => Err(Outcome::Broken(format!("control: {detail}"))),
        None => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(Outcome::Broken(format!("the control ended with {} and no answer: {said}", output.status)))
        }
    }
}

/// The attempt inside must not.
fn sandboxed(attack: &Attack, engine_id: &str, payload: &Path, root: &Path, observe: &str) -> Result<Outcome, Outcome> {
    let stage = set_stage(attack, payload, root, "inside")?;
    let plain = sandbox(engine_id, &stage.workspace, payload, stage.environment.clone());
    let plain = if observe == USUAL { plain } else { plain.observe(observe) };
    let sandbox = (attack.sandbox)(&stage, plain);
    let field = stage.field().to_text();
    let command: Vec<OsString> =
        vec![PAYLOAD_INSIDE.into(), HIDDEN_ARGUMENT.into(), "attempt".into(), attack.id.into(), field.into()];
    let not_started = |error: polder::Error| match attack.refusal {
        Refusal::ShowsNothing => Outcome::Broken(format!("the sandbox did not start: {error}")),
        Refusal::Holds => Outcome::Held(format!("refused: {error}")),
    };
    let planned = sandbox.plan(command.clone()).map_err(not_started)?;
    if let Report::Refused(unfit) = planned.report() {
        // Not starting is how a sandbox holds what it cannot enforce.
        return Ok(Outcome::NotApplicable(format!("refused: {unfit}")));
    }
    drop(planned);
    let input = (attack.input)(&stage).map_err(|error| Outcome::Broken(format!("no input: {error}")))?;
    let finished = (attack.run)(&stage, input, sandbox, command).map_err(not_started)?;
    let judged = (attack.judge)(&stage, &finished);
    let answer = Answer::from_output(&finished.stdout);
    Ok(match (attack.decides, answer, judged) {
        (Decides::AttemptAndJudge, Some(Answer::Reached(detail)), _) => Outcome::Escaped(detail),
        (_, _, Err(detail)) => Outcome::Escaped(detail),
        (_, Some(Answer::Broken(detail) | Answer::Lacking(detail)), Ok(())) => {
            Outcome::Broken(format!("inside: {detail}"))
        }
        (Decides::JudgeAlone, _, Ok(())) => Outcome::Held(ending(&finished)),
        (Decides::AttemptAndJudge, Some(Answer::Blocked(detail)), Ok(())) => Outcome::Held(detail),
        (Decides::AttemptAndJudge, None, Ok(())) => {
            Outcome::Broken(format!("no answer from inside: {}", ending(&finished)))
        }
    })
}

/// The sandbox of an attack that says nothing about it: what a run without configuration has, and the attempt.
pub(crate) fn sandbox(
    engine_id: &str,
    workspace: &Path,
    payload: &Path,
    environment: BTreeMap<OsString, OsString>,
) -> Sandbox {
    Sandbox::in_directory(workspace)
        .environment(environment)
        .engine(engine_id)
        .bind(format!("{}:{PAYLOAD_INSIDE}", payload.display()))
        .timeout("30s")
}

fn ending(finished: &Finished) -> String {
    let said = String::from_utf8_lossy(&finished.stderr);
    let outcome = &finished.outcome;
    format!("{:?}, limit {:?} {}", outcome.ending, outcome.limit, said.trim()).trim_end().to_owned()
}
