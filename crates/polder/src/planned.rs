//! A decided run: look at it, then let it happen.

use crate::audit::{Entry, Recorder};
use crate::credentials::Secrets;
use crate::error::Error;
use crate::events::Events;
use crate::missing::ProgramSearch;
use crate::noting::Noting;
use crate::warnings::Warnings;
use polder_engine::Fit;
use polder_facts::{Event, EventKind, HostFacts, Outcome, Output};
use polder_plan::Plan;
use polder_policy::Policy;
use polder_run::{Chosen, Parting, Prepared, Session, Streams, Supervision, Unfit};
use std::future::Future;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// A run that was decided and has not started. Says what would happen also when no engine may do it.
pub struct Planned {
    prepared: Prepared,
    policy: Policy,
    recorder: Recorder,
    secrets: Secrets,
    session: Option<Session>,
}

/// A run that is in the log, where it has to be, and may start.
pub struct Begun {
    /// What starts it.
    pub chosen: Chosen,
    /// What ends it in the log.
    pub entry: Entry,
    /// What must not be told of it.
    pub secrets: Secrets,
    /// What is kept of it for `polder explain`, if the caller lets it hear and end.
    pub noting: Noting,
}

/// What came of a run whose output was collected.
#[must_use = "the outcome says whether the command did what was asked"]
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// How it ended.
    pub outcome: Outcome,
    /// Everything on standard output.
    pub stdout: Vec<u8>,
    /// Everything on standard error.
    pub stderr: Vec<u8>,
    /// Everything else that happened, in order.
    pub events: Vec<Event>,
}

impl Planned {
    pub(crate) fn new(prepared: Prepared, policy: Policy, recorder: Recorder, secrets: Secrets) -> Self {
        Self { prepared, policy, recorder, secrets, session: None }
    }

    /// The same as one run of a session.
    pub(crate) fn in_session(self, session: Session) -> Self {
        Self { session: Some(session), ..self }
    }

    /// What will happen.
    pub fn plan(&self) -> &Plan {
        &self.prepared.plan
    }

    /// The policy that it comes from.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The facts that it stands on.
    pub fn host(&self) -> &HostFacts {
        &self.prepared.host
    }

    /// A look at the host for the case that the program is not found inside.
    pub fn program_search(&self) -> ProgramSearch {
        ProgramSearch::new(Arc::clone(&self.prepared.plan), Arc::clone(&self.prepared.host))
    }

    /// The enforcement report of the engine that would run it; of the one asked for, also when it refuses.
    pub fn report(&self) -> Report<'_> {
        match &self.prepared.chosen {
            Ok(chosen) => Report::Fits { fit: chosen.fitted.report(), reason: &chosen.reason },
            Err(unfit) => Report::Refused(unfit),
        }
    }

    /// The same if an engine may start it, else why nobody may.
    pub(crate) fn checked(self) -> Result<Self, Unfit> {
        let Self { prepared: Prepared { plan, host, chosen }, policy, recorder, secrets, session } = self;
        let prepared = Prepared { plan, host, chosen: Ok(chosen?) };
        Ok(Self { prepared, policy, recorder, secrets, session })
    }

    /// Whether the command has a secret that must be kept out of what it writes, so that its streams cannot be ours.
    pub fn has_secrets(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// Whether polder gives it one, as its policy says, so that it cannot have a terminal: what is written there comes letter
    /// by letter, and cannot be searched.
    pub const fn gives_secrets(&self) -> bool {
        self.secrets.placed()
    }

    /// The variables of the caller that pass and are named as secrets, in order.
    pub fn passes_secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.passed().iter().map(String::as_str)
    }

    /// Takes what is needed to start and writes down that it does, or says why nobody may.
    pub fn begin(self) -> Result<Begun, Error> {
        let chosen = self.prepared.chosen?;
        let entry = self.recorder.begin(&chosen, &self.policy)?;
        let noting = Noting::new(&chosen, self.recorder.records().cloned(), self.secrets.clone());
        // Only now: the span is the run's own, and the plan and its hash are the same for every run.
        let below =
            polder_telemetry::traceparent(&entry.span()).filter(|_| polder_plan::carries_trace(&self.policy.env));
        let chosen = match below {
            Some(parent) => Chosen { fitted: chosen.fitted.telling(polder_plan::TRACEPARENT, &parent), ..chosen },
            None => chosen,
        };
        Ok(Begun { chosen, entry, secrets: self.secrets, noting })
    }

    /// Runs the command with no input and collects its output.
    pub fn run(self) -> Result<Finished, Error> {
        let null = std::fs::File::open("/dev/null");
        let stdin = null.map(OwnedFd::from).map_err(|error| Error::Run(error.into()))?;
        self.run_with_input(stdin)
    }

    /// Runs the command with this input and collects its output.
    pub fn run_with_input(self, stdin: OwnedFd) -> Result<Finished, Error> {
        let (mut stdout, mut stderr, mut events) = (Vec::new(), Vec::new(), Vec::new());
        let outcome = self.run_with(Streams::Events { stdin }, &mut |event| match event.kind {
            EventKind::Output(Output::Stdout, bytes) => stdout.extend(bytes),
            EventKind::Output(Output::Stderr, bytes) => stderr.extend(bytes),
            _ => events.push(event),
        })?;
        Ok(Finished { outcome, stdout, stderr, events })
    }

    /// Runs the command with streams of the caller's choice and tells the caller what happens.
    pub fn run_with(self, streams: Streams, sink: &mut dyn FnMut(Event)) -> Result<Outcome, Error> {
        self.told_to(streams, &mut |event| {
            sink(event);
            ControlFlow::Continue(())
        })
    }

    /// The same for a caller who may stop listening.
    fn told_to(self, streams: Streams, sink: &mut dyn FnMut(Event) -> ControlFlow<()>) -> Result<Outcome, Error> {
        let session = self.session.clone();
        // Who uses the library hears everything anyway; only the command line keeps records.
        let Begun { chosen, entry, secrets, noting: _ } = self.begin()?;
        let mut redaction = secrets.redaction();
        let mut warnings = Warnings::new(entry.warning());
        let told = &mut *sink;
        let sink = &mut |event| {
            redaction.pass(event).into_iter().flat_map(|event| warnings.pass(event)).try_for_each(&mut *told)
        };
        let (outlets, has_room) = (&[], &|| true);
        let supervision =
            Supervision { signals: None, ahead: None, session, parting: Parting::Wait, outlets, has_room, sink };
        let ended = entry.span().in_scope(|| polder_run::run(chosen, streams, supervision));
        if let Some(warning) = entry.end(&ended)?.and_then(|text| warnings.warning(text)) {
            // The run is over: whether anybody listens any more does not matter.
            let _ = told(warning);
        }
        Ok(ended?)
    }

    /// Runs the command with this input on a thread of its own, and gives what happens while it happens.
    pub fn events_with_input(self, stdin: OwnedFd) -> Events {
        Events::of(move |sink| self.told_to(Streams::Events { stdin }, sink))
    }

    /// The same with no input.
    pub fn events(self) -> Result<Events, Error> {
        let null = std::fs::File::open("/dev/null").map_err(|error| Error::Run(error.into()))?;
        Ok(self.events_with_input(null.into()))
    }

    /// Runs the command on a thread of its own; the future is ready when nothing of the sandbox is left. Works on every
    /// executor. A dropped future does not end the run: give it a timeout.
    pub fn run_async(self) -> RunFuture {
        let shared = Arc::new(Mutex::new(Shared { result: None, waker: None }));
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            let result = self.run();
            let waker = {
                let mut shared = theirs.lock().unwrap_or_else(PoisonError::into_inner);
                shared.result = Some(result);
                shared.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        RunFuture { shared }
    }
}

/// What an engine says about a plan.
#[derive(Debug)]
pub enum Report<'a> {
    /// This engine would run it.
    Fits {
        /// Its report.
        fit: &'a Fit,
        /// Why this engine.
        reason: &'a str,
    },
    /// Nobody may.
    Refused(&'a Unfit),
}

impl std::fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fits { fit, reason } => write!(f, "engine        {} ({reason})\n{fit}", fit.engine),
            Self::Refused(unfit) => writeln!(f, "refused       {unfit}"),
        }
    }
}

/// A run on a thread of its own.
#[must_use = "a run that nobody waits for goes on by itself"]
pub struct RunFuture {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    result: Option<Result<Finished, Error>>,
    waker: Option<Waker>,
}

impl Future for RunFuture {
    type Output = Result<Finished, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        match shared.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                shared.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
