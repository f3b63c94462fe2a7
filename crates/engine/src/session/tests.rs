use super::*;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

fn failed(text: &str) -> LaunchError {
    LaunchError { failure: LaunchFailure::Setup(text.into()), remedy: Some("remedy".to_owned()) }
}

#[test]
fn many_who_ask_at_once_get_the_same_thing() {
    let (session, made, barrier) = (Session::new(), AtomicUsize::new(0), Barrier::new(50));
    let ask = || {
        barrier.wait();
        let make = || {
            std::thread::yield_now();
            Ok(made.fetch_add(1, SeqCst))
        };
        session.share::<usize>("key", |_| true, make).expect("made")
    };
    let got: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..50).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    assert_eq!(made.load(SeqCst), 1);
    assert!(got.iter().all(|thing| Arc::ptr_eq(thing, &got[0])));
    // The control: another key, and the same key for a thing of another kind.
    let other = session.share::<usize>("other", |_| true, || Ok(made.fetch_add(1, SeqCst)));
    assert_eq!(*other.expect("made"), 1);
    assert_eq!(*session.share::<u8>("key", |_| true, || Ok(7)).expect("made"), 7);
}

#[test]
fn a_failure_is_shared_by_those_who_waited_and_tried_again_by_others() {
    let (session, tries) = (Session::new(), AtomicUsize::new(0));
    // The shelf has it as well.
    let waiting = || locked(&session.0).slots.values().map(|slot| Arc::strong_count(slot) - 1).sum::<usize>();
    let ask = || {
        let make = || {
            tries.fetch_add(1, SeqCst);
            while waiting() < 10 {
                std::thread::yield_now();
            }
            Err(failed("no daemon"))
        };
        session.share::<u8>("key", |_| true, make).expect_err("failed")
    };
    let errors: Vec<LaunchError> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..10).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    assert_eq!(tries.load(SeqCst), 1);
    for error in errors {
        assert_eq!(error.to_string(), "no daemon\n  remedy: remedy");
    }
    assert_eq!(*session.share::<u8>("key", |_| true, || Ok(1)).expect("another try"), 1);
}

/// Says when it is dropped.
struct Tells<'a>(&'a AtomicUsize);

impl Drop for Tells<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

#[test]
fn what_is_not_good_is_made_anew_and_everything_ends_with_the_session() {
    let session = Session::new();
    let make = || Ok(Tells(&DROPPED));
    let first = session.share("key", |_: &Tells<'static>| true, make).expect("made");
    let second = session.share("key", |_: &Tells<'static>| false, make).expect("made");
    assert!(!Arc::ptr_eq(&first, &second));
    assert_eq!(DROPPED.load(SeqCst), 0, "somebody still uses the first");
    drop(first);
    assert_eq!(DROPPED.load(SeqCst), 1);
    let copy = session.clone();
    drop((session, second));
    assert_eq!(DROPPED.load(SeqCst), 1, "a copy is the same session");
    drop(copy);
    assert_eq!(DROPPED.load(SeqCst), 2);
}

static IDLE: AtomicUsize = AtomicUsize::new(0);

#[test]
fn only_so_many_idle_things_are_kept_and_none_in_use_goes() {
    let session = Session::new();
    let share = |key: usize| session.share(&key.to_string(), |_: &Tells<'static>| true, || Ok(Tells(&IDLE)));
    let used = share(0).expect("made");
    for key in 1..=IDLE_MAX + 1 {
        drop(share(key).expect("made"));
    }
    assert_eq!(IDLE.load(SeqCst), 0);
    drop(share(IDLE_MAX + 2).expect("made"));
    drop(share(IDLE_MAX + 3).expect("made"));
    assert_eq!(IDLE.load(SeqCst), 2);
    assert!(Arc::ptr_eq(&used, &share(0).expect("kept")));
}
