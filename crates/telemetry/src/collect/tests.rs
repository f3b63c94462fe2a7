use super::*;
use tracing::field::Empty;

/// Whether a span of which this is recorded counts as failed.
fn failed(record: impl FnOnce(&tracing::Span)) -> bool {
    let collector = Collector::new(Parent::of(None).expect("a trace"), Sent::Yes);
    let spans = Arc::clone(&collector.spans);
    tracing::subscriber::with_default(collector, || {
        let span = tracing::info_span!(target: "polder::sandbox", "exec", exit_code = Empty, error = Empty, violations = Empty);
        record(&span);
    });
    let ended = &spans.lock().expect("nobody else").ended;
    assert_eq!(ended.len(), 1);
    ended[0].failed
}

#[test]
fn a_run_that_never_came_to_a_code_failed() {
    assert!(failed(|span| _ = span.record("error", true)));
    assert!(failed(|span| _ = span.record("exit_code", 3)));
    assert!(!failed(|span| _ = span.record("error", false)));
    assert!(!failed(|span| _ = span.record("exit_code", 0).record("violations", 1_u64)));
}
