//! Plans are the same for the same question, and events tell a run in order.

use crate::scene::Scene;
use polder::{Ending, Event, EventKind, Output, Streams};
use std::time::Duration;

pub(super) fn the_same_run_has_the_same_plan(scene: &Scene) {
    let plan = |command: &[&str]| {
        let planned = scene.plan(&scene.sandbox().timeout("1m").env("A=b"), command);
        (planned.plan().to_string(), planned.plan().hash(), planned.report().to_string())
    };
    assert_eq!(plan(&["true", "a"]), plan(&["true", "a"]));
    let (text, hash, _) = plan(&["true", "a"]);
    assert_eq!(hash.len(), 64);
    assert!(text.contains("true a") && text.contains("timeout 1m"), "{text}");
    assert_ne!(plan(&["true", "b"]).1, hash, "another command is another plan");
    let other = scene.plan(&scene.sandbox().timeout("1m").env("A=c"), &["true", "a"]);
    assert_ne!(other.plan().hash(), hash, "another value is another plan");
    assert!(!other.plan().to_string().contains("A=c"), "values are not printed");
}

fn told(scene: &Scene, command: &[&str]) -> Vec<Event> {
    let stdin = std::fs::File::open("/dev/null").expect("/dev/null");
    let mut events = Vec::new();
    let planned = scene.plan(&scene.sandbox(), command);
    let outcome = planned.run_with(Streams::Events { stdin: stdin.into() }, &mut |event| events.push(event));
    let outcome = outcome.expect("a run");
    let told = events.iter().find_map(|event| match &event.kind {
        EventKind::Exit(outcome) => Some(outcome.clone()),
        _ => None,
    });
    assert_eq!(told, Some(outcome), "the exit carries the outcome");
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    assert!(events.iter().all(|event| event.run == events[0].run), "one run has one name");
    assert!(events.windows(2).all(|pair| pair[0].time <= pair[1].time), "time goes forward");
    assert!(
        matches!(&events[0].kind, EventKind::Starting { engine, reason } if engine == scene.engine() && !reason.is_empty())
    );
    assert_eq!(events.last().map(|event| &event.kind), Some(&EventKind::Stopped));
    assert!(matches!(events[events.len() - 2].kind, EventKind::Exit(_)), "{events:?}");
    events
}

pub(super) fn events_come_in_order_without_holes(scene: &Scene) {
    let events = told(scene, &["sh", "-c", "echo out; echo err >&2; exit 4"]);
    let ready = events.iter().position(|event| event.kind == EventKind::Ready).expect("ready");
    let output = |stream| {
        let chunks = events.iter().enumerate().filter_map(|(index, event)| match &event.kind {
            EventKind::Output(of, bytes) if *of == stream => {
                assert!(index > ready, "output before ready");
                Some(bytes.clone())
            }
            _ => None,
        });
        chunks.flatten().collect::<Vec<u8>>()
    };
    assert_eq!((output(Output::Stdout), output(Output::Stderr)), (b"out\n".to_vec(), b"err\n".to_vec()));
    let others = told(scene, &["true"]);
    assert_ne!(others[0].run, events[0].run, "another run has another name");
}

pub(super) fn a_command_that_does_not_start_has_events_too(scene: &Scene) {
    let events = told(scene, &["no-such-command"]);
    assert!(events.iter().all(|event| event.kind != EventKind::Ready), "nothing was ready: {events:?}");
    let ended = events.iter().any(|event| matches!(&event.kind, EventKind::Exit(o) if o.ending == Ending::NotFound));
    assert!(ended, "{events:?}");
}

pub(super) fn usage_is_told(scene: &Scene) {
    let python = "import time; x = bytearray(50 << 20)\nwhile time.process_time() < 0.2: pass";
    let finished = scene.run(&scene.sandbox(), &["python3", "-c", python]);
    let usage = finished.outcome.usage;
    assert!(usage.cpu >= Duration::from_millis(150) && usage.wall >= Duration::from_millis(150), "{usage:?}");
    assert!(usage.peak_rss_bytes >= 50 << 20, "{usage:?}");
}
