//! The steps of a configuration: all judged before the first one starts, each planned again when its turn comes.

mod beside;

pub use beside::PlannedService;

use crate::audit::Recorder;
use crate::config::Said;
use crate::credentials::{self, Placed};
use crate::error::Error;
use crate::planned::{Begun, Planned};
use crate::warnings::Warnings;
use beside::Attended;
use polder_facts::{Ending, Event, EventKind, Origin, Outcome, Output as Stream, Sourced};
use polder_plan::filter_environment;
use polder_policy::{EnvRules, Fault, Faults, Policy, STEPS_AT_ONCE, Trust, resolve_step, steps};
use polder_run::{Parting, Session, Streams, Supervision};
use polder_secrets::Keeper;
use polder_steps::{
    Crew, Graph, Node, Output, Rendered, Schedule, Scope, Status, StepLink, Task, Told, Work, go, works,
};
use polder_sys::wait::{self, Signals};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most that is kept of a step's output for those who name it.
const OUTPUT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Which steps, and with what.
#[derive(Clone, Debug, PartialEq)]
pub struct StepsAsked {
    /// Their names; all when empty.
    pub names: Vec<String>,
    /// What `inputs.NAME` stands for.
    pub inputs: BTreeMap<String, String>,
    /// How many run at once, instead of what the configuration says.
    pub at_once: Option<usize>,
    /// What `pr` stands for.
    pub pull_request: Option<serde_json::Value>,
}

/// Steps that were decided and have not started.
pub struct PlannedSteps {
    graph: Graph,
    steps: Vec<PlannedStep>,
    at_once: usize,
    asked: StepsAsked,
    around: Around,
    /// Keys of theirs that only another tool reads.
    unread: Vec<Sourced<String>>,
    notices: Vec<String>,
}

/// What surrounds all of them.
struct Around {
    root: PathBuf,
    start: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    recorder: Recorder,
    keeper: Arc<Keeper>,
    /// What the steps share: one container, for example, for all that use the same sandbox.
    session: Session,
}

/// One of them.
pub struct PlannedStep {
    work: Work,
    policy: Policy,
    planned: Planned,
    services: Vec<PlannedService>,
    scope_env: BTreeMap<String, String>,
    waits_for: Vec<String>,
}

/// How one step ended.
#[must_use = "the status says whether the step did what was asked"]
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// Its name.
    pub name: String,
    /// How it ended.
    pub status: Status,
    /// The engine, when it ran.
    pub engine: Option<String>,
    /// The outcome of its command, when it ran.
    pub outcome: Option<Outcome>,
    /// From its turn to its end.
    pub took: Duration,
}

/// What happens while steps run; a step is named by its place.
#[derive(Debug)]
pub enum StepEvent<'a> {
    /// Its turn has come.
    Started(usize),
    /// Something of its run.
    Run(usize, &'a Event),
    /// It has ended, or will never run.
    Ended(usize, &'a StepResult),
    /// What was made for several steps went, and left something behind, for people.
    Warning(&'a str),
    /// Time has passed.
    Tick,
}

impl PlannedStep {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.work.name
    }

    /// What it waits for, as it is written.
    pub fn waits_for(&self) -> &[String] {
        &self.waits_for
    }

    /// What runs beside it, in the order in which it starts.
    pub fn services(&self) -> &[PlannedService] {
        &self.services
    }

    /// What is known of its run before it has its values.
    pub const fn planned(&self) -> &Planned {
        &self.planned
    }
}

impl PlannedSteps {
    pub(crate) fn of(
        said: &Said,
        trust: &Trust,
        (environment, keeper): (&BTreeMap<OsString, OsString>, &Arc<Keeper>),
        asked: &StepsAsked,
    ) -> Result<Self, Error> {
        let all = steps(&said.layers)?;
        let graph = Graph::of(&all, &asked.names)?;
        let works = works(&all, &graph)?;
        let around = Around {
            root: said.scope.workspace_root.as_path().to_owned(),
            start: said.scope.working_dir.as_path().to_owned(),
            environment: environment.clone(),
            recorder: said.recorder(environment),
            keeper: Arc::clone(keeper),
            session: Session::new(),
        };
        let mut planned = Vec::new();
        let mut faults: Vec<Fault> = Vec::new();
        for (work, node) in works.into_iter().zip(&graph.nodes) {
            match policy_of(said, trust, asked, &work) {
                Ok(mut policy) => {
                    let step = &all[node.step];
                    let services = match beside::plan(said, trust, step, &around) {
                        Ok((services, beside)) => {
                            policy.beside = beside;
                            services
                        }
                        Err(Error::Configuration(Faults(more))) => {
                            faults.extend(more);
                            continue;
                        }
                        Err(other) => return Err(other),
                    };
                    let policy = said.shielded(policy, environment);
                    let step = PlannedStep { services, ..planned_step(work, step, policy, &around)? };
                    faults.extend(step.work.lacking(&step.scope(asked)));
                    planned.push(step);
                }
                Err(Error::Configuration(Faults(more))) => faults.extend(more),
                Err(other) => return Err(other),
            }
        }
        faults.sort_by(|a, b| a.origin.cmp(&b.origin));
        faults.dedup();
        if !faults.is_empty() {
            return Err(Faults(faults).into());
        }
        let at_once = match asked.at_once {
            Some(at_once) => at_once,
            None => {
                let by_file = said.layers.max_parallelism(trust)?.map(|limit| limit.value);
                usize::try_from(by_file.unwrap_or(STEPS_AT_ONCE)).unwrap_or(usize::MAX)
            }
        };
        let at_once = at_once.max(1);
        let mut unread = said.layers.unread();
        unread.extend(graph.nodes.iter().flat_map(|node| all[node.step].unread.clone()));
        let notices = said.notices.clone();
        Ok(Self { graph, steps: planned, at_once, asked: asked.clone(), around, unread, notices })
    }

    /// The steps, in the order in which they are told.
    pub fn steps(&self) -> &[PlannedStep] {
        &self.steps
    }

    /// What their file says and polder does not read, for people: once for each key, with the first place.
    pub fn unread(&self) -> Option<String> {
        let mut first: BTreeMap<&str, &Origin> = BTreeMap::new();
        for Sourced { value, origin } in &self.unread {
            first.entry(value).or_insert(origin);
        }
        let keys: Vec<_> = first.iter().map(|(key, origin)| format!("`{key}` ({origin})")).collect();
        (!keys.is_empty()).then(|| {
            format!(
                "not read, because only the runner of the file knows it: {}; the steps run whatever it says",
                keys.join(", ")
            )
        })
    }

    /// What was done before the files were read, for people.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// How many run at once.
    pub const fn at_once(&self) -> usize {
        self.at_once
    }

    /// Refuses everything when one of the steps could not run: a run that begins must not find that out in its middle.
    pub fn judged(self) -> Result<Self, Error> {
        let Self { graph, steps, at_once, asked, around, unread, notices } = self;
        let (mut kept, mut refused) = (Vec::new(), Vec::new());
        for step in steps {
            let PlannedStep { work, policy, planned, services, scope_env, waits_for } = step;
            let mut able = Vec::new();
            for service in services {
                match service.checked() {
                    Ok(service) => able.push(service),
                    Err((name, unfit)) => refused.push((format!("{}` with its service `{name}", work.name), unfit)),
                }
            }
            match planned.checked() {
                Ok(planned) => kept.push(PlannedStep { work, policy, planned, services: able, scope_env, waits_for }),
                Err(unfit) => refused.push((work.name.clone(), unfit)),
            }
        }
        if refused.is_empty() {
            Ok(Self { graph, steps: kept, at_once, asked, around, unread, notices })
        } else {
            Err(Error::Steps(refused))
        }
    }

    /// Runs them to their end and tells what happens. Nothing runs any more when it returns.
    pub fn run(
        self,
        signals: Option<&Signals>,
        sink: &mut dyn FnMut(StepEvent<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<StepResult>, Error> {
        let this = self.judged()?;
        let undaunted = this.steps.iter().map(|step| step.work.undaunted()).collect();
        let mut schedule = Schedule::new(this.graph.clone(), undaunted, this.at_once);
        let named: BTreeSet<String> = this.steps.iter().flat_map(|step| step.work.outputs()).collect();
        let mut crew =
            Doing { this: &this, sink, named, kept: BTreeMap::new(), results: BTreeMap::new(), begun: BTreeMap::new() };
        let gone = go(&mut schedule, &mut crew, signals).map_err(|error| Error::Run(error.into()));
        let (results, sink) = (crew.results, crew.sink);
        let words = this.around.session.words();
        // What the steps shared ends here, and may have something to tell.
        drop(this);
        for text in words.take() {
            let _ = sink(StepEvent::Warning(&text));
        }
        gone?;
        Ok(results.into_values().collect())
    }
}

fn policy_of(said: &Said, trust: &Trust, asked: &StepsAsked, work: &Work) -> Result<Policy, Error> {
    let scope = scope_of(asked, BTreeMap::new());
    let sandbox = work.sandbox(&scope).map_err(|error| {
        Error::from(Faults(vec![Fault { origin: work.origin.clone(), message: error.0, hint: None }]))
    })?;
    let vocabulary = polder_engines::vocabulary();
    let mut policy = resolve_step(&said.layers, &vocabulary, &said.scope, trust, &work.name, sandbox)?;
    said.name_workspace(&mut policy);
    Ok(policy)
}

fn scope_of(asked: &StepsAsked, env: BTreeMap<String, String>) -> Scope {
    Scope {
        inputs: asked.inputs.clone(),
        env,
        pr: asked.pull_request.clone(),
        outputs: BTreeMap::new(),
        statuses: BTreeMap::new(),
    }
}

fn planned_step(
    work: Work,
    step: &polder_policy::Step,
    policy: Policy,
    Around { root, start, environment, recorder, keeper, session: _ }: &Around,
) -> Result<PlannedStep, Error> {
    let outline = work.outline();
    let with_values = with_values(&policy, &outline);
    let Placed { policy: placed, secrets } = credentials::placed(&with_values, keeper, environment)?;
    let prepared = polder_run::prepare(&placed, &words(&outline), root, start, environment.clone())?;
    let own = |variable: &Sourced<(String, String)>| {
        step.env.iter().any(|own| own.origin == variable.origin && own.value.0 == variable.value.0)
    };
    let set = policy.env.set.iter().filter(|variable| !own(variable)).cloned().collect();
    let inside = filter_environment(&EnvRules { pass: policy.env.pass.clone(), set }, environment);
    let texts =
        inside.into_iter().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut scope_env: BTreeMap<String, String> = texts.collect();
    // What is inside is not what the caller has.
    let plan = &prepared.plan;
    scope_env.insert("HOME".to_owned(), plan.identity.home.to_string());
    let waits_for = step.depends_on.iter().map(|dependency| dependency.value.clone()).collect();
    Ok(PlannedStep {
        work,
        planned: Planned::new(prepared, with_values, recorder.clone(), secrets),
        policy,
        services: Vec::new(),
        scope_env,
        waits_for,
    })
}

fn words(rendered: &Rendered) -> Vec<OsString> {
    rendered.command.iter().map(OsString::from).collect()
}

/// The policy with a step's values in its variables. Flags still win: they stand behind.
fn with_values(policy: &Policy, rendered: &Rendered) -> Policy {
    let mut policy = policy.clone();
    let set = std::mem::take(&mut policy.env.set);
    for variable in set {
        let own =
            |known: &&Sourced<(String, String)>| known.origin == variable.origin && known.value.0 == variable.value.0;
        let Some(known) = rendered.env.iter().rev().find(own) else {
            policy.env.set.push(variable);
            continue;
        };
        policy.env.set.push(known.clone());
        // A value that is not written in the file is one that somebody gave, and may be a secret.
        if known.value.1 != variable.value.1 {
            policy.env.set.push(Sourced::new(known.value.clone(), Origin::Api));
        }
    }
    let values = rendered.values.iter().map(|(name, value)| Sourced::built_in((name.clone(), value.clone())));
    policy.env.set.extend(values);
    policy
}

impl PlannedStep {
    fn scope(&self, asked: &StepsAsked) -> Scope {
        scope_of(asked, self.scope_env.clone())
    }
}

/// What a step tells while it runs.
enum Message {
    Event(Event),
    Outcome(Outcome),
}

struct Doing<'a, 'b> {
    this: &'a PlannedSteps,
    sink: &'b mut dyn FnMut(StepEvent<'_>) -> ControlFlow<()>,
    /// The steps whose output somebody names.
    named: BTreeSet<String>,
    kept: BTreeMap<String, Vec<u8>>,
    results: BTreeMap<usize, StepResult>,
    begun: BTreeMap<usize, Instant>,
}

impl Doing<'_, '_> {
    fn node(&self, place: usize) -> &Node {
        &self.this.graph.nodes[place]
    }

    /// The values that a step can name: only of those that it waits for, directly or not, so that it is the same every time.
    fn scope(&self, place: usize, schedule: &Schedule) -> Scope {
        let mut scope = self.this.steps[place].scope(&self.this.asked);
        let before = self.this.graph.before(place);
        let ended = schedule.statuses().filter(|(name, _)| before.contains(name));
        scope.statuses = ended.map(|(name, status)| (name.to_owned(), status.clone())).collect();
        let named = self.this.steps[place].work.outputs();
        for name in named.into_iter().filter(|name| before.contains(name.as_str())) {
            let Some(bytes) = self.kept.get(&name) else { continue };
            let output = match std::str::from_utf8(bytes) {
                _ if bytes.len() > OUTPUT_BYTES_MAX => Output::TooLong,
                Ok(text) => Output::Text(text.to_owned()),
                Err(_) => Output::NotText,
            };
            scope.outputs.insert(name, output);
        }
        scope
    }

    fn result(&mut self, place: usize) -> &mut StepResult {
        let name = self.node(place).name.clone();
        self.results.entry(place).or_insert_with(|| StepResult {
            name,
            status: Status::Broken("it never ended".to_owned()),
            engine: None,
            outcome: None,
            took: Duration::ZERO,
        })
    }

    fn keep(&mut self, place: usize, bytes: &[u8]) {
        let name = &self.this.graph.nodes[place].name;
        if self.named.contains(name) {
            let kept = self.kept.entry(name.clone()).or_default();
            // One byte more than is kept tells that there was more.
            let room = (OUTPUT_BYTES_MAX + 1).saturating_sub(kept.len());
            kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }
}

impl<'a> Crew<'a, Message> for Doing<'a, '_> {
    fn task(&mut self, place: usize, schedule: &Schedule) -> Task<'a, Message> {
        let this = self.this;
        let step = &this.steps[place];
        let scope = self.scope(place, schedule);
        match step.work.holds(&scope) {
            Ok(true) => {}
            Ok(false) => return Task::Ended(Status::Skipped(polder_steps::Skip::Condition)),
            Err(error) => return Task::Ended(Status::Broken(format!("`if`: {error}"))),
        }
        let rendered = match step.work.render(&scope) {
            Ok(rendered) => rendered,
            Err(error) => return Task::Ended(Status::Broken(error.0)),
        };
        Task::Run(Box::new(move |link, tell| this.run_one(step, rendered, link, tell)))
    }

    fn hear(&mut self, told: Told<'_, Message>) -> ControlFlow<()> {
        match told {
            Told::Started(place) => {
                self.begun.insert(place, Instant::now());
                (self.sink)(StepEvent::Started(place))
            }
            Told::Message(place, Message::Event(event)) => {
                match &event.kind {
                    EventKind::Starting { engine, .. } => self.result(place).engine = Some(engine.clone()),
                    EventKind::Output(Stream::Stdout, bytes) => self.keep(place, bytes),
                    _ => {}
                }
                (self.sink)(StepEvent::Run(place, &event))
            }
            Told::Message(place, Message::Outcome(outcome)) => {
                self.result(place).outcome = Some(outcome);
                ControlFlow::Continue(())
            }
            Told::Ended(place, status) => {
                let took = self.begun.get(&place).map_or(Duration::ZERO, Instant::elapsed);
                // A step that wrote nothing has an output all the same.
                self.keep(place, b"");
                let result = self.result(place);
                (result.status, result.took) = (status.clone(), took);
                let result = result.clone();
                (self.sink)(StepEvent::Ended(place, &result))
            }
            Told::Tick => (self.sink)(StepEvent::Tick),
        }
    }
}

impl PlannedSteps {
    /// Runs a step, with its services around it.
    fn run_one(
        &self,
        step: &PlannedStep,
        rendered: Rendered,
        link: StepLink<'_>,
        tell: &mut dyn FnMut(Message) -> ControlFlow<()>,
    ) -> Status {
        if step.services.is_empty() {
            return self.run_command(step, rendered, &self.around.session, link, tell);
        }
        std::thread::scope(|threads| {
            let session = Session::new();
            let mut attended = Attended::in_session(session.clone());
            let status = match attended.start(threads, &step.services, &self.around, link.signals) {
                Ok(()) => self.run_command(step, rendered, &session, link, tell),
                Err(status) => return status,
            };
            let ended = attended.end();
            match status {
                // A step that failed without what it needs says nothing about the step.
                Status::Failed(code) if !ended.is_empty() => {
                    Status::Broken(format!("exit code {code}, after {}", ended.join(", and ")))
                }
                status => status,
            }
        })
    }

    /// Plans a step once more, because the tree may be another one by now, and runs it.
    fn run_command(
        &self,
        step: &PlannedStep,
        rendered: Rendered,
        session: &Session,
        link: StepLink<'_>,
        tell: &mut dyn FnMut(Message) -> ControlFlow<()>,
    ) -> Status {
        let policy = with_values(&step.policy, &rendered);
        let outcome = std::thread::scope(|threads| -> Result<Outcome, Error> {
            let stdin = match rendered.stdin.clone() {
                None => OwnedFd::from(File::open("/dev/null").map_err(|error| Error::Run(error.into()))?),
                Some(text) => {
                    let (read, write) = wait::pipe().map_err(|error| Error::Run(error.into()))?;
                    // Whoever does not read it all is not interested, and its end of the pipe goes with it.
                    threads.spawn(move || drop(File::from(write).write_all(text.as_bytes())));
                    read
                }
            };
            let words = words(&rendered);
            let sink = &mut |event| tell(Message::Event(event));
            let what = (&policy, words.as_slice(), &self.around.recorder, Ends::ByItself);
            carry_out(&self.around, what, session, (stdin, link.signals, &|| link.has_room()), sink)
        });
        match outcome {
            Ok(outcome) => {
                let status = Status::of(&outcome);
                let _ = tell(Message::Outcome(outcome));
                status
            }
            Err(error) => Status::Broken(whole(&error)),
        }
    }
}

/// When a command is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// When it has done its work.
    ByItself,
    /// When it is asked to: that a signal ended it then says nothing about it.
    WhenAsked,
}

/// Plans one command and runs it to its end, recorded where it has to be, without its secrets in what is told.
fn carry_out(
    Around { root, start, environment, recorder: _, keeper, session: _ }: &Around,
    (policy, words, recorder, ends): (&Policy, &[OsString], &Recorder, Ends),
    session: &Session,
    (stdin, signals, has_room): (OwnedFd, &Signals, &dyn Fn() -> bool),
    tell: &mut dyn FnMut(Event) -> ControlFlow<()>,
) -> Result<Outcome, Error> {
    let Placed { policy: placed, secrets } = credentials::placed(policy, keeper, environment)?;
    let prepared = polder_run::prepare(&placed, words, root, start, environment.clone())?;
    let planned = Planned::new(prepared, policy.clone(), recorder.clone(), secrets);
    let Begun { chosen, entry, secrets, mut noting } = planned.begin()?;
    let mut redaction = secrets.redaction();
    let mut warnings = Warnings::new(entry.warning());
    let sink = &mut |event| {
        redaction.pass(event).into_iter().flat_map(|event| warnings.pass(event)).try_for_each(|event| {
            noting.hear(&event);
            tell(event)
        })
    };
    let session = Some(session.clone());
    let signals = Some(signals);
    let supervision =
        Supervision { signals, ahead: None, session, parting: Parting::Wait, outlets: &[], has_room, sink };
    let mut ended = entry.span().in_scope(|| polder_run::run(chosen, Streams::Events { stdin }, supervision));
    if let Ok(Outcome { ending: ending @ Ending::Signalled(wait::TERMINATE), .. }) = &mut ended
        && ends == Ends::WhenAsked
    {
        *ending = Ending::Interrupted(wait::TERMINATE);
    }
    if let Some(warning) = entry.end(&ended)?.and_then(|text| warnings.warning(text)) {
        // The run is over: whether anybody listens any more does not matter.
        let _ = tell(warning);
    }
    // A service that has done its work is ended by its step, and there is nothing to explain.
    let wanted = policy.beside.is_none() || !matches!(&ended, Ok(outcome) if is_wanted(outcome));
    // A record is a help, and a step did what it did without it.
    if wanted && let Err(error) = noting.end(&ended) {
        tracing::warn!(target: "polder::sandbox", %error, "no record");
    }
    Ok(ended?)
}

/// Whether a command ended because somebody asked for it, and was denied nothing.
fn is_wanted(outcome: &Outcome) -> bool {
    matches!(outcome.ending, Ending::Interrupted(_)) && outcome.violations == 0
}

/// An error with its causes.
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}
