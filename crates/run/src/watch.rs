//! Starting a chosen engine and watching the run to its end.
//!
//! One loop on descriptors: reports of the sandbox, output, signals, the terminal, and the clock. It ends when the
//! command does, when its time is up, when it wrote too much or when the user asks for it; in every case the whole tree
//! is gone before the outcome is told.

use crate::choose::Chosen;
use crate::claim::{Claimed, claim};
use crate::filling::Filling;
use crate::name_watch::{Answered, NamesEnd, NewNames};
use crate::outlet::EventOutlet;
use crate::relay::{Part, Relay};
use crate::streams::{Connected, StreamError, Streams, connect};
use crate::sweep::{NotSetAside, Sweeper};
use crate::sweep_record::{SweepRecord, sweep_records_in};
use crate::workspace::{Apart, Held, WorkspaceError};
use crate::write_log::WrittenTree;
use polder_cache::ClaimError;
use polder_engine::{
    Ended, HeadStart, LaunchError, LaunchFailure, Layers, Lookout, NoTerminal, Notice, Parting, Promised, Report,
    Running, Services, Session,
};
use polder_facts::git::GitIdentity;
use polder_facts::{Ending, Event, EventKind, HostFacts, LimitKind, Outcome, RunId, Usage, Violation};
use polder_plan::{Plan, Role, Swept};
use polder_policy::{Access, WorkspaceMode};
use polder_sys::streams::Direction;
use polder_sys::wait::{self, Signals};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a command may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);
/// How long polder waits for a reader of output after it has ended a run.
const DELIVERY: Duration = Duration::from_millis(250);
/// How long a sink that has no room is left alone.
const ROOM_LOOK: Duration = Duration::from_millis(10);
/// Violations that are told one by one; the rest is counted.
const VIOLATIONS_MAX: u64 = 1000;

/// What surrounds a run.
pub struct Supervision<'a> {
    /// Signals that end the run or tell of a new terminal size.
    pub signals: Option<&'a Signals>,
    /// What was begun before the plan was known.
    pub ahead: Option<HeadStart>,
    /// What the run shares with others, where it is one of several.
    pub session: Option<Session>,
    /// How far to wait at the end.
    pub parting: Parting,
    /// Descriptors to which the sink writes: the command waits while their readers do not read.
    pub outlets: &'a [EventOutlet],
    /// Whether the sink takes output without waiting: the command waits while it does not.
    pub has_room: &'a dyn Fn() -> bool,
    /// Who is told what happens. Breaking off means that nobody listens any more: the command ends as if its pipe broke.
    pub sink: &'a mut dyn FnMut(Event) -> ControlFlow<()>,
}

/// Why a run did not come to an outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The sandbox could not be started; nothing of it is left.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// There is no workspace to keep the changes in, or it could not be let go.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The directories that are kept between runs could not be had.
    #[error(transparent)]
    Caches(#[from] ClaimError),
    /// The caller's streams cannot be the command's, or failed.
    #[error(transparent)]
    Streams(#[from] StreamError),
    /// Waiting for the command failed.
    #[error("cannot watch the run")]
    Watch(#[from] io::Error),
    /// What the command leaves could not be remembered, so a killed run would go unnoticed.
    #[error(
        "cannot write down what this run has to set aside: {0}\n  \
         remedy: set XDG_STATE_HOME to a directory of yours that can be written"
    )]
    NotRemembered(io::Error),
    /// The command left files that programs on the host would obey.
    #[error("{}", not_set_aside(files, *remembered))]
    NotSetAside {
        /// The files.
        files: Vec<NotSetAside>,
        /// Whether the next run in the tree will know of them.
        remembered: bool,
    },
    /// Names that come into being during the run could not be watched for; nothing was started.
    #[error(
        "cannot watch for names that must not come into being in the workspace\n  \
         remedy: end programs that use inotify, or raise fs.inotify.max_user_instances and max_user_watches with sysctl"
    )]
    NoNameWatch(#[source] io::Error),
    /// The command made a name again and again that must not come into being.
    #[error(
        "the command made `{}` again after polder had set it aside ({count} times), so the run was ended\n  \
         remedy: look at what was set aside; if the command may make it, run again with the grant that was named",
        path.display()
    )]
    KeptMaking {
        /// The host's path.
        path: PathBuf,
        /// How often it was set aside.
        count: u32,
    },
}

/// Starts a chosen engine and watches the run to its end.
pub fn run(chosen: Chosen, streams: Streams, supervision: Supervision<'_>) -> Result<Outcome, RunError> {
    let Supervision { signals, ahead, session, parting, outlets, has_room, sink } = supervision;
    let Chosen { engine, fitted, reason, passed_over: _, notices } = chosen;
    let mut teller = Teller::new(sink);
    let _ = teller.tell(EventKind::Starting { engine: engine.id().to_owned(), reason });
    for notice in notices {
        let _ = teller.tell(EventKind::Warning(notice));
    }
    for unreplaceable in &fitted.plan().files.unreplaceable {
        let _ = teller.tell(EventKind::Warning(unreplaceable.to_string()));
    }
    for warning in fitted.plan().git_identity.iter().flat_map(GitIdentity::warnings) {
        let _ = teller.tell(EventKind::Warning(warning));
    }
    for accepted in fitted.accepted() {
        let _ =
            teller.tell(EventKind::Downgrade { guarantee: accepted.guarantee, reason: accepted.gap.reason.clone() });
    }
    let limits = fitted.plan().limits.clone();
    let scratch = fitted.plan().files.scratch;
    let output_max = limits.output.as_ref().map(|limit| limit.value.0);
    let timeout = limits.timeout.as_ref().map(|limit| limit.value.0);
    let no_terminal = match &streams {
        Streams::Terminal { .. } => NoTerminal::Refuse,
        Streams::Relayed { .. } | Streams::Events { .. } => NoTerminal::UsePipes,
    };
    let Connected { stdio, terminal, mut relay } = connect(streams, output_max.is_some())?;
    // Held until nothing of the sandbox is left.
    let claim = match claim(fitted.plan(), signals)? {
        Claimed::Ready(claim) => claim,
        Claimed::Interrupted(signal) => return Ok(not_begun(Ending::Interrupted(signal), None, &mut teller)),
    };
    let mut apart = Apart::intend(fitted.plan(), fitted.host(), signals)?;
    if let Some(warning) = apart.as_ref().and_then(Apart::warning) {
        let _ = teller.tell(EventKind::Warning(warning));
    }

    // Before anything is started, so that nothing comes into being unheard.
    let mut names = NewNames::begin(fitted.plan()).map_err(RunError::NoNameWatch)?;
    let record = remember(fitted.plan(), fitted.host()).map_err(RunError::NotRemembered)?;

    tracing::debug!(target: "polder::sandbox", engine = engine.id(), args = fitted.plan().command.len(), "launch");
    let started = Instant::now();
    let mut lookout = Before { teller: &mut teller, signals, interrupted: None, resized: false };
    let (layers, mut make);
    let layer = apart.as_ref().map(|apart| apart.layers().own.as_path().join(Layers::UPPER));
    let promised = match &mut apart {
        Some(apart) => {
            layers = apart.layers();
            make = || apart.make();
            Some(Promised { layers, make: &mut make })
        }
        None => None,
    };
    let shared = record.as_ref().map(SweepRecord::share).transpose()?;
    let services = Services {
        stdio,
        terminal,
        no_terminal,
        ahead,
        layers: promised,
        lookout: &mut lookout,
        session,
        record: shared,
    };
    let plan = Arc::clone(fitted.plan());
    let launched = engine.launch(fitted, services);
    let resized = lookout.resized;
    // From when it was made on nobody else has it; whatever happens, it is let go at the end.
    let held = apart.and_then(Apart::held);
    // Declared before the sandbox, so that it is dropped after it: what the command wrote is looked at when it is gone.
    let mut sweeper = Sweeper::new(&plan, layer);
    let mut running = match launched {
        Ok(running) => running,
        Err(error) => {
            let ended = held.map(Held::end).transpose();
            if let Some(record) = record {
                record.end_unlaunched();
            }
            let outcome = not_launched(error, &|| engine.not_executed(&plan), &mut teller)?;
            ended?;
            return Ok(outcome);
        }
    };
    let _ = teller.tell(EventKind::Ready);
    // After the last word that the sink may print: from here on the keys are the command's.
    relay.settle(running.take_terminal())?;
    if resized {
        relay.fit_size()?;
    }
    let filling = match (&held, &limits.disk) {
        (Some(held), Some(bound)) => Some(held.filling(bound.value)?),
        (None, _) | (_, None) => None,
    };
    let mut watch = Watch {
        filling,
        relay,
        outlets,
        has_room,
        signals,
        // The command's time, not that of an image which has to be fetched first.
        deadline: timeout.map(|timeout| Instant::now() + timeout),
        output_left: output_max,
        cause: None,
        grace: None,
        violations: 0,
        told: 0,
        names: names.take(),
        names_end: None,
    };
    let ended = watch.until_ended(running.as_mut(), &sweeper, &mut teller)?;
    let copies = running.take_git_copies();
    let (finished, swept) = if running.is_quiet() {
        // While the kernel takes the sandbox apart.
        let swept = sweeper.sweep(copies);
        (running.finish(parting), swept)
    } else {
        let finished = running.finish(parting);
        (finished, sweeper.sweep(copies))
    };
    let remembered = record.is_some();
    if let Some(record) = record.filter(|_| swept.not_set_aside.is_empty()) {
        record.end();
    }
    drop(claim);
    // Every process that could write is gone. A descriptor of the pipe may have been passed on to a
    // process elsewhere, so only the bytes that are there now count, not the end of the pipe.
    watch.drain(&mut teller)?;
    let lost_bytes = watch.relay.undelivered_bytes();
    // The caller's terminal is as it was before polder says another word.
    let delivered = std::mem::take(&mut watch.relay).finish();
    if lost_bytes > 0 {
        let _ = teller.tell(EventKind::Warning(format!("{lost_bytes} bytes of output found no reader in time")));
    }
    for warning in finished.warnings {
        let _ = teller.tell(EventKind::Warning(warning));
    }
    for violation in finished.violations.into_iter().chain(swept.violations) {
        watch.note(violation, &mut teller);
    }
    // A command can be quicker than a look. What it left is too much all the same.
    if watch.filling.as_mut().is_some_and(Filling::is_over) {
        watch.cause.get_or_insert(Cause::TooMuchOnDisk);
    }
    if let Some(held) = held {
        let _ = teller.tell(held.end()?);
    }
    if !swept.not_set_aside.is_empty() {
        return Err(RunError::NotSetAside { files: swept.not_set_aside, remembered });
    }
    match watch.names_end.take() {
        None => {}
        Some(NamesEnd::Again { path, count }) => return Err(RunError::KeptMaking { path, count }),
        Some(NamesEnd::Unmoved(file)) => return Err(RunError::NotSetAside { files: vec![file], remembered }),
    }
    let outcome = watch.outcome(ended, finished.limit, started.elapsed());
    if let Some(limit) = outcome.limit {
        tracing::info!(target: "polder::sandbox", limit = limit.name(), "limit");
        let _ = teller.tell(EventKind::Limit(limit));
    }
    if let Some(violation) = crate::limit::violation(&outcome, &limits, scratch) {
        watch.note(violation, &mut teller);
    }
    let outcome = Outcome { violations: watch.violations, ..outcome };
    tracing::debug!(target: "polder::sandbox", exit_code = outcome.exit_code(), violations = outcome.violations, "exec");
    let _ = teller.tell(EventKind::Exit(outcome.clone()));
    let _ = teller.tell(EventKind::Stopped);
    watch.await_readers()?;
    delivered?;
    Ok(outcome)
}

/// Writes down what a run sets aside, for the next one in the same tree.
fn remember(plan: &Plan, host: &HostFacts) -> io::Result<Option<SweepRecord>> {
    // In a layer nothing is obeyed, and its tree is not the host's.
    let is_direct = plan.workspace.value.mode == WorkspaceMode::Direct;
    let swept = plan.files.swept.iter().chain(&plan.files.git.missing).filter(|_| is_direct);
    let swept: Vec<Swept> = swept.cloned().collect();
    let written = plan.files.shown.iter().filter(|shown| shown.access == Access::ReadWrite);
    let written = written.filter_map(|shown| match shown.role {
        Role::Workspace if is_direct => Some((shown.host.as_path().to_owned(), WrittenTree::Workspace)),
        Role::Bind => Some((shown.host.as_path().to_owned(), WrittenTree::Bind)),
        // polder or git reads these, and neither looks for a configuration of polder's there.
        Role::Workspace | Role::Repository | Role::EnclosingTree | Role::Cache | Role::State | Role::Lent => None,
    });
    let written: Vec<_> = written.collect();
    if swept.is_empty() && written.is_empty() {
        return Ok(None);
    }
    let kept = host.caches.kept.as_deref().ok_or_else(|| io::Error::other("there is no home directory"))?;
    SweepRecord::begin(&sweep_records_in(kept), &swept, &written)
}

/// The files, why they are still there, and what to do.
fn not_set_aside(files: &[NotSetAside], remembered: bool) -> String {
    let lines = files.iter().map(|NotSetAside { path, reason }| {
        format!("`{}` was made by the command and could not be set aside: {reason}", path.display())
    });
    let until = if remembered {
        "polder does not run in this tree until it is gone"
    } else {
        "do so before polder or git works in this tree: this could not be remembered"
    };
    let remedy = format!("  remedy: look at it, then move it away or remove it; {until}");
    lines.chain([remedy]).collect::<Vec<_>>().join("\n")
}

/// Why there was no launch. The engine hands on what kept the workspace from being made.
fn without_launch(error: LaunchError) -> RunError {
    let LaunchError { failure, remedy } = error;
    match failure {
        LaunchFailure::Setup(cause) => match cause.downcast::<WorkspaceError>() {
            Ok(unmade) => RunError::Workspace(*unmade),
            Err(cause) => LaunchError { failure: LaunchFailure::Setup(cause), remedy }.into(),
        },
        failure @ (LaunchFailure::NotFound | LaunchFailure::NotExecutable(_) | LaunchFailure::Interrupted(_)) => {
            LaunchError { failure, remedy }.into()
        }
    }
}

/// A command that is missing or cannot be executed is an outcome, and so is one that nobody waited for; everything else is
/// an error.
fn not_launched(
    error: LaunchError,
    denied: &dyn Fn() -> Option<Violation>,
    teller: &mut Teller<'_>,
) -> Result<Outcome, RunError> {
    let ending = match &error.failure {
        LaunchFailure::NotFound => Ending::NotFound,
        LaunchFailure::NotExecutable(error) => Ending::NotExecutable(error.raw_os_error().unwrap_or(0)),
        LaunchFailure::Interrupted(signal) => Ending::Interrupted(*signal),
        LaunchFailure::Setup(_) => return Err(without_launch(error)),
    };
    let denied = if matches!(ending, Ending::Interrupted(_)) { None } else { denied() };
    Ok(not_begun(ending, denied, teller))
}

/// The outcome of a run that came to its end before the command did anything.
fn not_begun(ending: Ending, denied: Option<Violation>, teller: &mut Teller<'_>) -> Outcome {
    let violations = denied.iter().map(|violation| violation.count).sum();
    if let Some(violation) = denied {
        teller.deny(violation);
    }
    let outcome = Outcome { ending, limit: None, usage: Usage::default(), violations };
    let _ = teller.tell(EventKind::Exit(outcome.clone()));
    let _ = teller.tell(EventKind::Stopped);
    outcome
}

/// Gives events their order.
struct Teller<'a> {
    sink: &'a mut dyn FnMut(Event) -> ControlFlow<()>,
    run: RunId,
    seq: u64,
}

impl<'a> Teller<'a> {
    fn new(sink: &'a mut dyn FnMut(Event) -> ControlFlow<()>) -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let run = RunId(format!("{millis:x}-{:x}-{count:x}", std::process::id()));
        Self { sink, run, seq: 0 }
    }

    fn deny(&mut self, violation: Violation) {
        let (action, layer) = (violation.action.name(), violation.layer.as_str());
        tracing::info!(target: "polder::sandbox", action, layer, count = violation.count, "violation");
        let _ = self.tell(EventKind::Violation(violation));
    }

    fn tell(&mut self, kind: EventKind) -> ControlFlow<()> {
        self.seq += 1;
        (self.sink)(Event { run: self.run.clone(), seq: self.seq, time: SystemTime::now(), kind })
    }
}

/// Passes on what an engine says before the command starts, and looks for signals meanwhile.
struct Before<'a, 't> {
    teller: &'t mut Teller<'a>,
    signals: Option<&'t Signals>,
    interrupted: Option<i32>,
    /// Whether the caller's terminal got another size.
    resized: bool,
}

impl Lookout for Before<'_, '_> {
    fn tell(&mut self, notice: Notice) {
        let _ = self.teller.tell(match notice {
            Notice::Progress(progress) => EventKind::Progress(progress),
            Notice::Warning(text) => EventKind::Warning(text),
        });
    }

    fn interrupted(&mut self) -> Option<i32> {
        while let Some(signal) = self.signals.and_then(Signals::next) {
            if signal == wait::WINDOW_CHANGED {
                self.resized = true;
            } else {
                self.interrupted.get_or_insert(signal);
            }
        }
        self.interrupted
    }
}

/// Whether a report comes within about the time that it takes to be woken up.
fn soon(running: &dyn Running) -> io::Result<bool> {
    const LOOKS: u32 = 400;
    for _ in 0..LOOKS {
        if wait::readable(&[Some(running.reports())], Some(Duration::ZERO))?[0] {
            return Ok(true);
        }
        // Who is to send it may wait for this very CPU.
        std::thread::yield_now();
    }
    Ok(false)
}

/// What polder was woken for.
struct Ready {
    reported: bool,
    signalled: bool,
    ending: bool,
    named: bool,
    parts: Vec<Part>,
}

/// Why polder ended the run.
#[derive(Clone, Copy)]
enum Cause {
    TimedOut,
    TooMuchOutput,
    TooMuchOnDisk,
    NobodyListens,
    Interrupted(i32),
    /// What came into being must not stay, and cannot be kept away.
    Names,
}

struct Watch<'a> {
    relay: Relay,
    outlets: &'a [EventOutlet],
    has_room: &'a dyn Fn() -> bool,
    signals: Option<&'a Signals>,
    deadline: Option<Instant>,
    output_left: Option<u64>,
    cause: Option<Cause>,
    grace: Option<Instant>,
    /// For a layer with a bound.
    filling: Option<Filling>,
    violations: u64,
    told: u64,
    names: Option<NewNames>,
    names_end: Option<NamesEnd>,
}

impl Watch<'_> {
    /// Watches until the command has ended; absent when the sandbox vanished or was killed.
    fn until_ended(
        &mut self,
        running: &mut dyn Running,
        sweeper: &Sweeper,
        teller: &mut Teller<'_>,
    ) -> io::Result<Option<Ended>> {
        let mut near = false;
        loop {
            let ready = {
                let outlets: Vec<_> = self.outlets.iter().filter_map(EventOutlet::awaited).collect();
                let has_room = (self.has_room)() && !self.outlets.iter().any(EventOutlet::is_full);
                let streams = self.relay.awaited(has_room);
                let reads = [
                    Some(running.reports()),
                    self.signals.map(Signals::fd),
                    running.ending().filter(|_| !near),
                    self.names.as_ref().and_then(NewNames::fd),
                ];
                let awaited: Vec<_> = reads
                    .into_iter()
                    .map(|fd| fd.map(|fd| (fd, Direction::Read)))
                    .chain(streams.iter().map(|(_, fd, direction)| Some((*fd, *direction))))
                    .chain(outlets.iter().map(|fd| Some((fd.as_fd(), Direction::Write))))
                    .collect();
                let answers = wait::ready(&awaited, self.next_wait())?;
                let parts = streams.iter().zip(&answers[reads.len()..]);
                let parts = parts.filter(|(_, ready)| **ready).map(|((part, ..), _)| *part).collect();
                Ready { reported: answers[0], signalled: answers[1], ending: answers[2], named: answers[3], parts }
            };
            self.outlets.iter().for_each(EventOutlet::flush);
            for part in ready.parts {
                match part {
                    Part::Event(index) => drop(self.pass(index, &|| running.kill(), teller)),
                    part => self.relay.step(part),
                }
            }
            if let Some(terminal) = &mut self.relay.terminal {
                terminal.look();
            }
            if ready.signalled {
                self.take_signals(running)?;
            }
            self.answer_names(ready.named, running, sweeper, teller)?;
            // Awake before the report is there: looking for it costs less than to be woken up once more.
            if ready.ending {
                near = true;
            }
            if ready.reported || (ready.ending && soon(running)?) {
                match running.report() {
                    Report::Denied(denied) => denied.into_iter().for_each(|violation| self.note(violation, teller)),
                    Report::Ended(ended) => return Ok(Some(ended)),
                    Report::Lost => return Ok(None),
                }
            }
            self.check_clock(running);
        }
    }

    /// Sets aside what came into being, and ends a command that does not stop making it.
    fn answer_names(
        &mut self,
        told: bool,
        running: &dyn Running,
        sweeper: &Sweeper,
        teller: &mut Teller<'_>,
    ) -> io::Result<()> {
        let Some(names) = &mut self.names else { return Ok(()) };
        if !told && names.due().is_none_or(|due| Instant::now() < due) {
            return Ok(());
        }
        let Answered { violations, end } = names.answer(sweeper)?;
        for violation in violations {
            self.note(violation, teller);
        }
        if let Some(end) = end {
            self.names = None;
            self.names_end = Some(end);
            self.cause.get_or_insert(Cause::Names);
            running.kill();
        }
        Ok(())
    }

    fn next_wait(&self) -> Option<Duration> {
        let now = Instant::now();
        let look = self.filling.as_ref().map(Filling::next);
        let names = self.names.as_ref().and_then(NewNames::due);
        let room = (!(self.has_room)()).then(|| now + ROOM_LOOK);
        let next = [self.deadline, self.grace, look, names, room].into_iter().flatten().min();
        [next.map(|next| next.saturating_duration_since(now)), self.relay.next_look()].into_iter().flatten().min()
    }

    fn check_clock(&mut self, running: &dyn Running) {
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.deadline = None;
            self.cause.get_or_insert(Cause::TimedOut);
            running.kill();
        }
        if self.filling.as_mut().is_some_and(|filling| filling.is_due(now) && filling.is_over()) {
            self.filling = None;
            self.cause.get_or_insert(Cause::TooMuchOnDisk);
            running.kill();
        }
        if self.grace.is_some_and(|grace| now >= grace) {
            self.grace = None;
            running.kill();
        }
    }

    fn take_signals(&mut self, running: &dyn Running) -> io::Result<()> {
        while let Some(signal) = self.signals.and_then(Signals::next) {
            if signal == wait::WINDOW_CHANGED {
                self.relay.fit_size()?;
            } else if self.grace.is_some() {
                // Asked twice: no more waiting.
                running.kill();
            } else {
                self.cause.get_or_insert(Cause::Interrupted(signal));
                self.grace = Some(Instant::now() + GRACE);
                // The request for a new start is polder's; to the command it is one to end.
                running.signal(if signal == wait::RESTART { wait::TERMINATE } else { signal });
            }
        }
        Ok(())
    }

    /// Passes on what the command wrote, as far as it may. Says whether there was something.
    fn pass(&mut self, index: usize, kill: &dyn Fn(), teller: &mut Teller<'_>) -> bool {
        let source = &mut self.relay.events[index];
        let stream = source.output;
        let Some(chunk) = source.chunk() else { return false };
        let allowed = match &mut self.output_left {
            None => chunk.len(),
            Some(left) => {
                let allowed = chunk.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= allowed as u64;
                allowed
            }
        };
        let cut = allowed < chunk.len();
        if allowed > 0 && teller.tell(EventKind::Output(stream, chunk[..allowed].to_vec())).is_break() {
            self.cause.get_or_insert(Cause::NobodyListens);
            kill();
        }
        if cut {
            self.cause.get_or_insert(Cause::TooMuchOutput);
            kill();
        }
        true
    }

    fn note(&mut self, violation: Violation, teller: &mut Teller<'_>) {
        self.violations += violation.count;
        self.told += 1;
        if self.told <= VIOLATIONS_MAX {
            teller.deny(violation);
        }
    }

    /// Takes the bytes that the command left in its pipes, and delivers them.
    fn drain(&mut self, teller: &mut Teller<'_>) -> io::Result<()> {
        for index in 0..self.relay.events.len() {
            while self.pass(index, &|| (), teller) {}
        }
        self.await_readers()
    }

    /// Delivers all that is pending. A reader that does not read keeps polder until the run's time is
    /// up, or until a signal; once polder has ended the run, only for a moment.
    fn await_readers(&mut self) -> io::Result<()> {
        let moment = Instant::now() + DELIVERY;
        loop {
            let delivered = self.relay.drain();
            self.outlets.iter().for_each(EventOutlet::flush);
            let outlets: Vec<_> = self.outlets.iter().filter_map(EventOutlet::awaited).collect();
            if delivered && outlets.is_empty() {
                return Ok(());
            }
            let until = if self.cause.is_some() { Some(moment) } else { self.deadline };
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                self.cause.get_or_insert(Cause::TimedOut);
                return Ok(());
            }
            let streams = self.relay.awaited_by_caller();
            let signals = self.signals.map(|signals| (signals.fd(), Direction::Read));
            let awaited: Vec<_> = [signals]
                .into_iter()
                .chain(streams.iter().map(|(_, fd, direction)| Some((*fd, *direction))))
                .chain(outlets.iter().map(|fd| Some((fd.as_fd(), Direction::Write))))
                .collect();
            wait::ready(&awaited, left)?;
            let signal = self.signals.and_then(Signals::next);
            if let Some(signal) = signal.filter(|signal| *signal != wait::WINDOW_CHANGED) {
                self.cause.get_or_insert(Cause::Interrupted(signal));
            }
        }
    }

    fn outcome(&self, ended: Option<Ended>, limit: Option<LimitKind>, wall: Duration) -> Outcome {
        let ending = match (self.cause, &ended) {
            (Some(Cause::TimedOut), _) => Ending::TimedOut,
            (Some(Cause::TooMuchOutput | Cause::TooMuchOnDisk), _) => Ending::LimitReached,
            (Some(Cause::NobodyListens), _) => Ending::Signalled(wait::BROKEN_PIPE),
            // A command that ended by itself after being asked to keeps its own code.
            (_, Some(Ended { code: Some(code), .. })) => Ending::Exited(*code),
            (_, Some(Ended { signal: Some(signal), .. })) => Ending::Signalled(*signal),
            (Some(Cause::Interrupted(signal)), _) => Ending::Interrupted(signal),
            // Told as an error.
            (Some(Cause::Names), _) => Ending::Lost,
            (None, _) if limit == Some(LimitKind::Memory) => Ending::LimitReached,
            (None, _) => Ending::Lost,
        };
        let limit = match self.cause {
            Some(Cause::TooMuchOutput) => Some(LimitKind::Output),
            Some(Cause::TooMuchOnDisk) => Some(LimitKind::Disk),
            _ => limit,
        };
        let usage = Usage {
            wall,
            cpu: ended.map_or(Duration::ZERO, |ended| ended.cpu),
            peak_rss_bytes: ended.map_or(0, |ended| ended.peak_rss_bytes),
        };
        Outcome { ending, limit, usage, violations: self.violations }
    }
}
