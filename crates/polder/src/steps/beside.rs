//! The services of a step: planned with it, started and awaited before it, ended after it, whatever happens.
//!
//! A service is a run like any other, in a sandbox of its own, with its own policy and its own record. All it has in common
//! with the step is a loopback, which is kept in a session of the step's own.

use super::{Around, Ends, carry_out, whole};
use crate::audit::Recorder;
use crate::config::Said;
use crate::credentials::{self, Placed};
use crate::error::Error;
use crate::planned::{Planned, Report};
use polder_facts::{Ending, Event, EventKind, Outcome, Sourced, Span};
use polder_policy::{
    Beside, Fault, Faults, Policy, Ready, ReadyBy, Step, StepService, Trust, WorkspaceMode, resolve_service, services,
};
use polder_run::Session;
use polder_steps::Status;
use polder_sys::wait::{self, Passer, Signals};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// How often polder looks whether a service is ready.
const LOOK: Duration = Duration::from_millis(50);
/// How often it asks by a command, which costs a sandbox.
const ASK: Duration = Duration::from_millis(300);
/// What is kept of what a service writes, and what is told of it.
const TAIL_BYTES_MAX: usize = 4096;
const TAIL_LINES_MAX: usize = 8;

/// A service that was decided and has not started.
pub struct PlannedService {
    name: String,
    policy: Policy,
    command: Vec<OsString>,
    ready: Ready,
    pub(super) planned: Planned,
}

impl PlannedService {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is known of its run.
    pub const fn planned(&self) -> &Planned {
        &self.planned
    }

    /// The same if an engine may start it.
    pub(super) fn checked(self) -> Result<Self, (String, polder_run::Unfit)> {
        let Self { name, policy, command, ready, planned } = self;
        match planned.checked() {
            Ok(planned) => Ok(Self { name, policy, command, ready, planned }),
            Err(unfit) => Err((name, unfit)),
        }
    }
}

/// What a step and its services have in common.
pub(super) fn beside(step: &Step, services: &[StepService]) -> Option<Sourced<Beside>> {
    let origin = step.services.first()?.origin.clone();
    let services = services.iter().map(|service| service.step.name.clone()).collect();
    Some(Sourced::new(Beside { services }, origin))
}

/// Decides everything about the services of a step.
pub(super) fn plan(
    said: &Said,
    trust: &Trust,
    step: &Step,
    around: &Around,
) -> Result<(Vec<PlannedService>, Option<Sourced<Beside>>), Error> {
    let found = services(&said.layers, step)?;
    let beside = beside(step, &found);
    let vocabulary = polder_engines::vocabulary();
    let mut planned = Vec::new();
    for StepService { step: service, ready } in found {
        let mut policy = resolve_service(&said.layers, &vocabulary, &said.scope, trust, &service.name)?;
        let faults = unfit(&service, &policy);
        if !faults.is_empty() {
            return Err(Faults(faults).into());
        }
        policy.beside.clone_from(&beside);
        let policy = said.shielded(policy, &around.environment);
        let command = command(&service);
        let Placed { policy: placed, secrets } = credentials::placed(&policy, &around.keeper, &around.environment)?;
        let prepared = polder_run::prepare(&placed, &command, &around.root, &around.start, around.environment.clone())?;
        let run = Planned::new(prepared, policy.clone(), around.recorder.clone(), secrets);
        planned.push(PlannedService { name: service.name, policy, command, ready: ready.value, planned: run });
    }
    Ok((planned, beside))
}

/// What a service cannot have.
fn unfit(service: &Step, policy: &Policy) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut fault = |origin: &polder_facts::Origin, message: &str, hint: &str| {
        let message = format!("the service `{}` {message}", service.name);
        faults.push(Fault { origin: origin.clone(), message, hint: Some(hint.to_owned()) });
    };
    let texts = service.exec.iter().map(|exec| (&exec.value, &exec.origin));
    let words = service.command.iter().flat_map(|command| command.value.iter().map(|word| (word, &command.origin)));
    let values = service.env.iter().map(|variable| (&variable.value.1, &variable.origin));
    for (_, origin) in texts.chain(words).chain(values).filter(|(text, _)| text.contains("{{")) {
        fault(origin, "starts before any step has ended, so it has no values", "write the text without `{{`");
    }
    if policy.workspace.value.mode != WorkspaceMode::Direct {
        let hint = "give it a sandbox of its own, perhaps with `read_only: true`";
        fault(&policy.workspace.origin, "works on the tree itself, and its sandbox keeps changes apart", hint);
    }
    if let Some(cache) = &policy.cache {
        let hint = "give it a sandbox of its own, without `cache`";
        fault(&cache.origin, "lives beside the step, and a directory that is kept between runs has one user", hint);
    }
    faults
}

fn command(service: &Step) -> Vec<OsString> {
    match (&service.exec, &service.command) {
        (Some(exec), _) => shell(&exec.value),
        (None, Some(command)) => command.value.iter().map(OsString::from).collect(),
        (None, None) => Vec::new(),
    }
}

fn shell(text: &str) -> Vec<OsString> {
    ["/bin/sh", "-c", text].map(OsString::from).to_vec()
}

/// The services of a step that run. Dropping it ends them.
pub(super) struct Attended<'scope> {
    session: Session,
    running: Vec<Attending<'scope>>,
}

struct Attending<'scope> {
    name: String,
    passer: Passer,
    tail: Arc<Mutex<Tail>>,
    thread: Option<ScopedJoinHandle<'scope, Result<Outcome, Error>>>,
}

impl<'scope> Attended<'scope> {
    /// Nothing yet, in the session in which the step will run.
    pub(super) const fn in_session(session: Session) -> Self {
        Self { session, running: Vec::new() }
    }

    /// Starts them one after the other, each when those before it can be used. An error is how the step ends that never
    /// began.
    pub(super) fn start<'env>(
        &mut self,
        threads: &'scope Scope<'scope, 'env>,
        services: &'env [PlannedService],
        around: &'env Around,
        signals: &Signals,
    ) -> Result<(), Status> {
        let broken = |error: &dyn std::fmt::Display| Status::Broken(error.to_string());
        for service in services {
            if let ReadyBy::Port(port) = service.ready.by
                && self.listens(service, port).map_err(|error| broken(&error))?
            {
                let why =
                    format!("the service `{}` cannot have port {port}: somebody listens there already", service.name);
                return Err(Status::Broken(why));
            }
            let (passer, own) = Signals::passed_on().map_err(|error| broken(&error))?;
            let tail = Arc::new(Mutex::new(Tail(VecDeque::new())));
            let (theirs, session) = (Arc::clone(&tail), self.session.clone());
            let thread = threads.spawn(move || {
                let what = (&service.policy, service.command.as_slice(), &around.recorder, Ends::WhenAsked);
                run(around, what, &session, &own, &mut |bytes| locked(&theirs).keep(bytes))
            });
            self.running.push(Attending { name: service.name.clone(), passer, tail, thread: Some(thread) });
            self.await_ready(service, around, signals)?;
        }
        Ok(())
    }

    fn await_ready(&self, service: &PlannedService, around: &Around, signals: &Signals) -> Result<(), Status> {
        let Some(attending) = self.running.last() else { return Ok(()) };
        let until = Instant::now() + service.ready.timeout.0;
        let pause = match service.ready.by {
            ReadyBy::Port(_) => LOOK,
            ReadyBy::Exec(_) => ASK,
        };
        loop {
            if let Some(signal) = signals.next() {
                return Err(Status::Interrupted(signal));
            }
            if attending.is_over() {
                let told = attending.told();
                return Err(Status::Broken(format!("the service `{}` ended before it was ready{told}", service.name)));
            }
            let left = until.saturating_duration_since(Instant::now());
            if self.is_ready(service, around, signals, left)? {
                return Ok(());
            }
            if left.is_zero() {
                let what = match &service.ready.by {
                    ReadyBy::Port(port) => format!("nobody listens on port {port}"),
                    ReadyBy::Exec(_) => "its `ready.exec` did not succeed".to_owned(),
                };
                let (timeout, told) = (service.ready.timeout, attending.told());
                return Err(Status::Broken(format!(
                    "the service `{}` was not ready after {timeout}: {what}{told}",
                    service.name
                )));
            }
            wait::readable(&[Some(signals.fd())], Some(pause.min(left)))
                .map_err(|error| Status::Broken(error.to_string()))?;
        }
    }

    fn is_ready(
        &self,
        service: &PlannedService,
        around: &Around,
        signals: &Signals,
        left: Duration,
    ) -> Result<bool, Status> {
        match &service.ready.by {
            ReadyBy::Port(port) => self.listens(service, *port).map_err(|error| Status::Broken(error.to_string())),
            ReadyBy::Exec(text) => {
                let mut policy = service.policy.clone();
                // It must not outlive the wait.
                let span = Span(left.max(LOOK));
                policy.limits.timeout = Some(Sourced::built_in(span));
                // It is asked again and again, and no answer is worth a record of its own but in the log.
                let recorder = around.recorder.only_logging();
                let command = shell(text);
                let what = (&policy, command.as_slice(), &recorder, Ends::ByItself);
                let outcome = run(around, what, &self.session, signals, &mut |_| {})
                    .map_err(|error| Status::Broken(whole(&error)))?;
                match outcome.ending {
                    Ending::Interrupted(signal) => Err(Status::Interrupted(signal)),
                    _ => Ok(outcome.success()),
                }
            }
        }
    }

    /// Whether somebody on the network of the step listens on a port.
    fn listens(&self, service: &PlannedService, port: u16) -> std::io::Result<bool> {
        let engine = match service.planned.report() {
            Report::Fits { fit, .. } => polder_engines::by_name(fit.engine),
            Report::Refused(_) => None,
        };
        let network = engine.as_deref().and_then(polder_engine::Engine::shared_network);
        network.map_or(Ok(false), |network| network.listens(&self.session, port))
    }

    /// Ends them, and says which of them had ended before.
    pub(super) fn end(mut self) -> Vec<String> {
        let over = |attending: &&Attending<'_>| attending.is_over();
        let told =
            |attending: &Attending<'_>| format!("its service `{}` had ended{}", attending.name, attending.told());
        let ended = self.running.iter().filter(over).map(told).collect();
        self.end_all();
        ended
    }

    /// The last to start is the first to go.
    fn end_all(&mut self) {
        while let Some(mut attending) = self.running.pop() {
            // Asked twice: nobody waits for anything that it could still want to do.
            attending.passer.pass(wait::TERMINATE);
            attending.passer.pass(wait::TERMINATE);
            // What it did until then is in its record.
            let _ = attending.thread.take().map(ScopedJoinHandle::join);
        }
    }
}

impl Drop for Attended<'_> {
    fn drop(&mut self) {
        self.end_all();
    }
}

impl Attending<'_> {
    fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(ScopedJoinHandle::is_finished)
    }

    /// The last that it wrote.
    fn told(&self) -> String {
        let text = locked(&self.tail).text();
        if text.is_empty() { "; it wrote nothing".to_owned() } else { format!("; its last lines: {text}") }
    }
}

/// Runs a command beside others, and hears what it writes.
fn run(
    around: &Around,
    what: (&Policy, &[OsString], &Recorder, Ends),
    session: &Session,
    signals: &Signals,
    hear: &mut dyn FnMut(&[u8]),
) -> Result<Outcome, Error> {
    let stdin = File::open("/dev/null").map_err(|error| Error::Run(error.into()))?.into();
    let result = carry_out(around, what, session, (stdin, signals, &|| true), &mut |event: Event| {
        if let EventKind::Output(_, bytes) = &event.kind {
            hear(bytes);
        }
        ControlFlow::Continue(())
    });
    // What keeps a service from running is told as its last words: nobody else hears of it.
    if let Err(error) = &result {
        hear(whole(error).as_bytes());
    }
    result
}

/// The end of what somebody writes.
struct Tail(VecDeque<u8>);

impl Tail {
    fn keep(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        let surplus = self.0.len().saturating_sub(TAIL_BYTES_MAX);
        self.0.drain(..surplus);
    }

    /// Its last lines as one, without anything that speaks to a terminal.
    fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(TAIL_LINES_MAX)..];
        last.join(" | ").chars().map(|c| if c.is_control() { '?' } else { c }).collect()
    }
}

fn locked(tail: &Mutex<Tail>) -> std::sync::MutexGuard<'_, Tail> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}
