//! Doing what the schedule decides: a thread for each step that runs, and one that listens to all of them.

use crate::schedule::{Decision, Schedule};
use crate::status::Status;
use polder_sys::wait::{self, Passer, Signals};
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How often a listener hears that time passes; also the longest that a signal waits.
const TICK: Duration = Duration::from_millis(50);
/// Messages that wait to be heard before a step takes no more output from its command.
const MESSAGES_MAX: usize = 64;

/// What a step's thread has of the thread that listens.
#[derive(Clone, Copy, Debug)]
pub struct StepLink<'a> {
    /// Signals that ask the step to end.
    pub signals: &'a Signals,
    backlog: &'a AtomicUsize,
}

impl StepLink<'_> {
    /// Whether the listener keeps up. Telling never waits for it: a step keeps its time, and hears
    /// its signals, whatever the listener writes to.
    pub fn has_room(&self) -> bool {
        self.backlog.load(Ordering::Relaxed) < MESSAGES_MAX
    }
}

/// What a thread does: it tells what happens, and ends when the signals ask for it.
pub type Doing<'a, M> = Box<dyn FnOnce(StepLink<'_>, &mut dyn FnMut(M) -> ControlFlow<()>) -> Status + Send + 'a>;

/// What a step does when its turn has come.
pub enum Task<'a, M> {
    /// This, on a thread of its own.
    Run(Doing<'a, M>),
    /// Nothing: it has ended already.
    Ended(Status),
}

/// What happens, in the order in which it is known.
#[derive(Debug)]
pub enum Told<'a, M> {
    /// A step runs.
    Started(usize),
    /// A step that runs tells something.
    Message(usize, M),
    /// A step has ended, or will never run.
    Ended(usize, &'a Status),
    /// Time has passed.
    Tick,
}

/// Who does the steps and who listens.
pub trait Crew<'a, M> {
    /// What this step does. Everything that it waits for has ended.
    fn task(&mut self, place: usize, schedule: &Schedule) -> Task<'a, M>;
    /// Hears what happens. Breaking off ends everything.
    fn hear(&mut self, told: Told<'_, M>) -> ControlFlow<()>;
}

enum Report<M> {
    Message(usize, M),
    Ended(usize, Status),
}

/// Runs a schedule to its end. Nothing runs any more when it returns.
pub fn go<'a, M: Send>(
    schedule: &mut Schedule,
    crew: &mut dyn Crew<'a, M>,
    signals: Option<&Signals>,
) -> io::Result<()> {
    let (sender, receiver) = mpsc::channel();
    let backlog = AtomicUsize::new(0);
    let backlog = &backlog;
    let mut passers: BTreeMap<usize, Passer> = BTreeMap::new();
    // Why everything has to end, if it has to.
    let mut asked: Option<i32> = None;
    thread::scope(|scope| {
        loop {
            while let Some(decision) = schedule.decide() {
                let (place, status) = match decision {
                    Decision::Skip(place, status) => (place, status),
                    Decision::Start(place) => match crew.task(place, schedule) {
                        Task::Ended(status) => (place, status),
                        Task::Run(task) => match Signals::passed_on() {
                            Ok((passer, signals)) => {
                                passers.insert(place, passer);
                                let _ = crew.hear(Told::Started(place));
                                let sender = sender.clone();
                                scope.spawn(move || {
                                    work(place, task, StepLink { signals: &signals, backlog }, &sender);
                                });
                                continue;
                            }
                            Err(error) => {
                                (place, Status::Broken(format!("there is no room for another step: {error}")))
                            }
                        },
                    },
                };
                let _ = crew.hear(Told::Ended(place, &status));
                schedule.ended(place, status);
            }
            if schedule.is_done() {
                return Ok(());
            }
            let heard = match receiver.recv_timeout(TICK) {
                Ok(Report::Message(place, message)) => {
                    backlog.fetch_sub(1, Ordering::Relaxed);
                    crew.hear(Told::Message(place, message))
                }
                Ok(Report::Ended(place, status)) => {
                    passers.remove(&place);
                    let status = match (status, asked) {
                        // What a command says when it was told to end is not its own failure.
                        (Status::Failed(_), Some(signal)) => Status::Interrupted(signal),
                        (status, _) => status,
                    };
                    let heard = crew.hear(Told::Ended(place, &status));
                    schedule.ended(place, status);
                    heard
                }
                Err(RecvTimeoutError::Timeout) => crew.hear(Told::Tick),
                // This function holds a sender itself.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if heard.is_break() && asked.is_none() {
                asked = Some(wait::BROKEN_PIPE);
                schedule.stop();
                passers.values().for_each(|passer| passer.pass(wait::TERMINATE));
            }
            while let Some(signal) = signals.and_then(Signals::next) {
                asked = Some(signal);
                schedule.stop();
                passers.values().for_each(|passer| passer.pass(signal));
            }
        }
    })
}

fn work<M>(place: usize, task: Doing<'_, M>, link: StepLink<'_>, sender: &Sender<Report<M>>) {
    let mut tell = |message| {
        link.backlog.fetch_add(1, Ordering::Relaxed);
        match sender.send(Report::Message(place, message)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    };
    let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| task(link, &mut tell)));
    // A panic of ours is ours, and must neither pass as a success nor leave the others waiting.
    let status = status.unwrap_or_else(|_| Status::Broken("polder failed in the middle of the step".to_owned()));
    let _ = sender.send(Report::Ended(place, status));
}
