//! Starting a chosen engine and watching the run to its end.
//!
//! One loop on descriptors: reports of the sandbox, output, signals, the terminal, and the clock. It ends when the
//! command does, when its time is up, when it wrote too much or when the user asks for it; in every case the whole tree
//! is gone before the outcome is told.

use crate::choose::Chosen;
use crate::claim::{Claimed, claim};
use crate::filling::Filling;
use crate::pump::{self, Source};
use crate::workspace::{Apart, Held, WorkspaceError};
use polder_cache::ClaimError;
use polder_engine::{
    Ended, HeadStart, LaunchError, LaunchFailure, Lookout, Notice, Parting, Promised, Report, Running, Services,
    Session,
};
use polder_facts::{Ending, Event, EventKind, LimitKind, Outcome, Output, RunId, Usage, Violation};
use polder_sys::wait::{self, Signals};
use polder_sys::{Terminal, terminal};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a command may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);
/// Violations that are told one by one; the rest is counted.
const VIOLATIONS_MAX: u64 = 1000;

/// Where the command's streams go.
#[derive(Debug)]
pub enum Streams {
    /// The command gets these descriptors and polder does not see what goes through them.
    Direct {
        /// Standard input.
        stdin: OwnedFd,
        /// Standard output.
        stdout: OwnedFd,
        /// Standard error.
        stderr: OwnedFd,
    },
    /// Output comes as events.
    Events {
        /// Standard input.
        stdin: OwnedFd,
    },
    /// A terminal of the sandbox's own, relayed to these descriptors.
    Terminal {
        /// The caller's terminal, read.
        input: OwnedFd,
        /// The caller's terminal, written.
        output: OwnedFd,
        /// Its size.
        size: Terminal,
    },
}

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
    /// Polder's own streams failed.
    #[error("cannot set up the streams of the run")]
    Streams(#[from] io::Error),
}

/// Starts a chosen engine and watches the run to its end.
pub fn run(chosen: Chosen, streams: Streams, supervision: Supervision<'_>) -> Result<Outcome, RunError> {
    let Supervision { signals, ahead, session, parting, sink } = supervision;
    let Chosen { engine, fitted, reason, passed_over: _ } = chosen;
    let mut teller = Teller::new(sink);
    let _ = teller.tell(EventKind::Starting { engine: engine.id().to_owned(), reason });
    for accepted in fitted.accepted() {
        let _ =
            teller.tell(EventKind::Downgrade { guarantee: accepted.guarantee, reason: accepted.gap.reason.clone() });
    }
    let limits = fitted.plan().limits.clone();
    let output_max = limits.output.as_ref().map(|limit| limit.value.0);
    let timeout = limits.timeout.as_ref().map(|limit| limit.value.0);
    let Connected { stdio, terminal, mut ends } = connect(streams, output_max.is_some())?;
    // Held until nothing of the sandbox is left.
    let claim = match claim(fitted.plan(), signals)? {
        Claimed::Ready(claim) => claim,
        Claimed::Interrupted(signal) => return Ok(not_begun(Ending::Interrupted(signal), None, &mut teller)),
    };
    let mut apart = Apart::intend(fitted.plan(), fitted.host(), signals)?;
    if let Some(warning) = apart.as_ref().and_then(Apart::warning) {
        let _ = teller.tell(EventKind::Warning(warning));
    }

    tracing::debug!(target: "polder::sandbox", engine = engine.id(), args = fitted.plan().command.len(), "launch");
    let started = Instant::now();
    let mut lookout = Before { teller: &mut teller, signals, interrupted: None, resized: false };
    let (layers, mut make);
    let promised = match &mut apart {
        Some(apart) => {
            layers = apart.layers();
            make = || apart.make();
            Some(Promised { layers, make: &mut make })
        }
        None => None,
    };
    let services = Services { stdio, terminal, ahead, layers: promised, lookout: &mut lookout, session };
    let plan = Arc::clone(fitted.plan());
    let launched = engine.launch(fitted, services);
    let resized = lookout.resized;
    // From when it was made on nobody else has it; whatever happens, it is let go at the end.
    let held = apart.and_then(Apart::held);
    let mut running = match launched {
        Ok(running) => running,
        Err(error) => {
            let ended = held.map(Held::end).transpose();
            let outcome = not_launched(error, &|| engine.not_executed(&plan), &mut teller)?;
            ended?;
            return Ok(outcome);
        }
    };
    if let Some(relay) = &mut ends.relay {
        relay.master = running.take_terminal();
        if resized {
            relay.fit_size()?;
        }
    }
    let _ = teller.tell(EventKind::Ready);
    let filling = match (&held, &limits.disk) {
        (Some(held), Some(bound)) => Some(held.filling(bound.value)?),
        (None, _) | (_, None) => None,
    };
    let mut watch = Watch {
        filling,
        ends,
        signals,
        // The command's time, not that of an image which has to be fetched first.
        deadline: timeout.map(|timeout| Instant::now() + timeout),
        output_left: output_max,
        cause: None,
        grace: None,
        violations: 0,
        told: 0,
    };
    let ended = watch.until_ended(running.as_mut(), &mut teller)?;
    let finished = running.finish(parting);
    drop(claim);
    for warning in finished.warnings {
        let _ = teller.tell(EventKind::Warning(warning));
    }
    for violation in finished.violations {
        watch.note(violation, &mut teller);
    }
    // A command can be quicker than a look. What it left is too much all the same.
    if watch.filling.as_mut().is_some_and(Filling::is_over) {
        watch.cause.get_or_insert(Cause::TooMuchOnDisk);
    }
    // Everybody who could write is gone, so the pipes end.
    watch.drain(&mut teller);
    if let Some(held) = held {
        let _ = teller.tell(held.end()?);
    }
    let outcome = watch.outcome(ended, finished.limit, started.elapsed());
    if let Some(limit) = outcome.limit {
        tracing::info!(target: "polder::sandbox", limit = limit.name(), "limit");
        let _ = teller.tell(EventKind::Limit(limit));
    }
    if let Some(violation) = crate::limit::violation(&outcome, &limits) {
        watch.note(violation, &mut teller);
    }
    let outcome = Outcome { violations: watch.violations, ..outcome };
    tracing::debug!(target: "polder::sandbox", exit_code = outcome.exit_code(), violations = outcome.violations, "exec");
    let _ = teller.tell(EventKind::Exit(outcome.clone()));
    let _ = teller.tell(EventKind::Stopped);
    Ok(outcome)
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

/// The streams of a run, ours and the command's.
struct Connected {
    stdio: [OwnedFd; 3],
    terminal: Option<Terminal>,
    ends: Ends,
}

/// Polder's ends of the streams.
struct Ends {
    stdout: Option<Source>,
    stderr: Option<Source>,
    relay: Option<Relay>,
}

/// The caller's terminal, and the sandbox's.
struct Relay {
    input: Source,
    output: OwnedFd,
    master: Option<OwnedFd>,
    from_master: Option<Source>,
}

impl Relay {
    /// Gives the sandbox's terminal the size of the caller's.
    fn fit_size(&self) -> io::Result<()> {
        match (&self.master, terminal::size(self.output.as_fd())) {
            (Some(master), Ok(size)) => terminal::resize(master.as_fd(), size),
            _ => Ok(()),
        }
    }
}

/// Makes the command's streams. Counting output means that it has to come through us.
fn connect(streams: Streams, counted: bool) -> io::Result<Connected> {
    let null = || std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").map(OwnedFd::from);
    let pipes = |stdin: OwnedFd| -> io::Result<Connected> {
        let (out_read, out_write) = wait::pipe()?;
        let (err_read, err_write) = wait::pipe()?;
        let ends = Ends { stdout: Some(Source::new(out_read)), stderr: Some(Source::new(err_read)), relay: None };
        Ok(Connected { stdio: [stdin, out_write, err_write], terminal: None, ends })
    };
    match streams {
        Streams::Events { stdin } => pipes(stdin),
        Streams::Direct { stdin, .. } if counted => pipes(stdin),
        Streams::Direct { stdin, stdout, stderr } => {
            let ends = Ends { stdout: None, stderr: None, relay: None };
            Ok(Connected { stdio: [stdin, stdout, stderr], terminal: None, ends })
        }
        Streams::Terminal { input, output, size } => {
            let relay = Relay { input: Source::new(input), output, master: None, from_master: None };
            let ends = Ends { stdout: None, stderr: None, relay: Some(relay) };
            Ok(Connected { stdio: [null()?, null()?, null()?], terminal: Some(size), ends })
        }
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

/// Why polder ended the run.
#[derive(Clone, Copy)]
enum Cause {
    TimedOut,
    TooMuchOutput,
    TooMuchOnDisk,
    NobodyListens,
    Interrupted(i32),
}

struct Watch<'a> {
    ends: Ends,
    signals: Option<&'a Signals>,
    deadline: Option<Instant>,
    output_left: Option<u64>,
    cause: Option<Cause>,
    grace: Option<Instant>,
    /// For a layer with a bound.
    filling: Option<Filling>,
    violations: u64,
    told: u64,
}

impl Watch<'_> {
    /// Watches until the command has ended; absent when the sandbox vanished or was killed.
    fn until_ended(&mut self, running: &mut dyn Running, teller: &mut Teller<'_>) -> io::Result<Option<Ended>> {
        if let Some(relay) = &mut self.ends.relay
            && let Some(master) = &relay.master
        {
            relay.from_master = Some(Source::new(master.try_clone()?));
        }
        let mut near = false;
        loop {
            let relay = self.ends.relay.as_ref();
            let ready = wait::readable(
                &[
                    Some(running.reports()),
                    self.signals.map(Signals::fd),
                    self.ends.stdout.as_ref().and_then(Source::fd),
                    self.ends.stderr.as_ref().and_then(Source::fd),
                    relay.and_then(|relay| relay.input.fd()),
                    relay.and_then(|relay| relay.from_master.as_ref()?.fd()),
                    running.ending().filter(|_| !near),
                ],
                self.next_wait(),
            )?;
            if ready[2] {
                self.pass(Output::Stdout, &|| running.kill(), teller);
            }
            if ready[3] {
                self.pass(Output::Stderr, &|| running.kill(), teller);
            }
            if ready[4] {
                self.type_in();
            }
            if ready[5] {
                self.show();
            }
            if ready[1] {
                self.take_signals(running)?;
            }
            // Awake before the report is there: looking for it costs less than to be woken up once more.
            if ready[6] {
                near = true;
            }
            if ready[0] || (ready[6] && soon(running)?) {
                match running.report() {
                    Report::Denied(denied) => denied.into_iter().for_each(|violation| self.note(violation, teller)),
                    Report::Ended(ended) => return Ok(Some(ended)),
                    Report::Lost => return Ok(None),
                }
            }
            self.check_clock(running);
        }
    }

    fn next_wait(&self) -> Option<Duration> {
        let now = Instant::now();
        let look = self.filling.as_ref().map(Filling::next);
        let next = [self.deadline, self.grace, look].into_iter().flatten().min()?;
        Some(next.saturating_duration_since(now))
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
                self.ends.relay.as_ref().map_or(Ok(()), Relay::fit_size)?;
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

    /// Passes on what the command wrote, as far as it may.
    fn pass(&mut self, stream: Output, kill: &dyn Fn(), teller: &mut Teller<'_>) {
        let source = match stream {
            Output::Stdout => &mut self.ends.stdout,
            Output::Stderr => &mut self.ends.stderr,
        };
        let Some(source) = source else { return };
        let chunk = source.chunk();
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
    }

    /// From the caller's terminal to the sandbox's.
    fn type_in(&mut self) {
        let Some(relay) = &mut self.ends.relay else { return };
        let Some(master) = &relay.master else { return };
        let chunk = relay.input.chunk();
        // The other side may be gone already; its report is on the way.
        let _ = pump::write_all(master.as_fd(), chunk);
    }

    /// From the sandbox's terminal to the caller's.
    fn show(&mut self) {
        let Some(relay) = &mut self.ends.relay else { return };
        let Some(source) = &mut relay.from_master else { return };
        let _ = pump::write_all(relay.output.as_fd(), source.chunk());
    }

    fn note(&mut self, violation: Violation, teller: &mut Teller<'_>) {
        self.violations += violation.count;
        self.told += 1;
        if self.told <= VIOLATIONS_MAX {
            teller.deny(violation);
        }
    }

    /// What is left in the pipes after everybody is gone.
    fn drain(&mut self, teller: &mut Teller<'_>) {
        for stream in [Output::Stdout, Output::Stderr] {
            loop {
                let source = match stream {
                    Output::Stdout => &self.ends.stdout,
                    Output::Stderr => &self.ends.stderr,
                };
                if source.as_ref().and_then(Source::fd).is_none() {
                    break;
                }
                self.pass(stream, &|| (), teller);
            }
        }
        while self.ends.relay.as_ref().and_then(|relay| relay.from_master.as_ref()?.fd()).is_some() {
            self.show();
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
