//! A run as a stream of events: in order, with bounded memory, and ended when nobody listens.
#![forbid(unsafe_code)]

use polder::{Event, EventKind, Output, Planned, Sandbox};
use std::fs::{self, File};
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
        let path = home.join(format!("polder-events-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    fn plan(&self, script: &str) -> Planned {
        Sandbox::in_directory(&self.0).plan(["sh", "-c", script]).expect("a plan")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("removed");
    }
}

/// A thread as an executor.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Thread(std::thread::Thread);
    impl Wake for Thread {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Thread(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn names(events: &[Event]) -> Vec<&'static str> {
    let name = |event: &Event| match &event.kind {
        EventKind::Starting { .. } => "starting",
        EventKind::Progress(_) => "progress",
        EventKind::Warning(_) => "warning",
        EventKind::Ready => "ready",
        EventKind::Output(Output::Stdout, _) => "stdout",
        EventKind::Output(Output::Stderr, _) => "stderr",
        EventKind::Violation(_) => "violation",
        EventKind::Limit(_) => "limit",
        EventKind::Downgrade { .. } => "downgrade",
        EventKind::Changes { .. } => "changes",
        EventKind::Exit(_) => "exit",
        EventKind::Stopped => "stopped",
    };
    events.iter().map(name).collect()
}

#[test]
fn an_iterator_and_futures_tell_the_same() {
    let place = Place::new("same");
    let script = "echo out; read line; echo err >&2; mkdir /opt/polder-x; exit 3";
    let events: Vec<Event> = place.plan(script).events().expect("events").collect();
    let names = names(&events);
    assert_eq!((names[0], &names[names.len() - 2..]), ("starting", &["exit", "stopped"][..]));
    for name in ["ready", "stdout", "stderr"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=events.len() as u64).collect::<Vec<_>>());
    let mut stream = place.plan(script).events().expect("events");
    let mut again = Vec::new();
    while let Some(event) = block_on(stream.next_event()) {
        again.push(event);
    }
    assert_eq!(again.last().map(|event| &event.kind), Some(&EventKind::Stopped));
    assert!(block_on(stream.next_event()).is_none(), "it stays over");
    assert_eq!(stream.outcome().expect("an outcome").exit_code(), 3);
}

#[test]
fn a_flood_waits_for_whoever_takes_it() {
    let place = Place::new("flood");
    // More than the pipe and everything in line can hold.
    let mut events = place.plan("head -c 40000000 /dev/zero; touch done").events().expect("events");
    assert!(events.by_ref().any(|event| matches!(event.kind, EventKind::Output(..))));
    assert!(!place.0.join("done").exists(), "somebody kept it all");
    let rest: usize = events
        .by_ref()
        .map(|event| match event.kind {
            EventKind::Output(_, bytes) => bytes.len(),
            _ => 0,
        })
        .sum();
    assert!(rest < 40_000_000 && place.0.join("done").exists());
    assert!(events.outcome().expect("an outcome").success());
}

#[test]
fn a_run_that_nobody_listens_to_ends() {
    let place = Place::new("dropped");
    let held = File::create(place.0.join("held")).expect("a file");
    let mut events = place.plan("exec flock held yes").events().expect("events");
    assert!(events.by_ref().any(|event| matches!(event.kind, EventKind::Output(..))));
    assert!(held.try_lock().is_err(), "the command holds it");
    drop(events);
    // Free when the command is gone.
    held.lock().expect("a lock");
}

#[test]
fn an_outcome_needs_nobody_who_takes_events() {
    let place = Place::new("outcome");
    let events = place.plan("head -c 40000000 /dev/zero; exit 4").events().expect("events");
    assert_eq!(events.outcome().expect("an outcome").exit_code(), 4);
}
