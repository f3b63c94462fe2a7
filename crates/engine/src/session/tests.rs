use super::*;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Nobody listens, and nobody is in a hurry.
struct Calm;

impl Lookout for Calm {
    fn tell(&mut self, _: crate::Notice) {}

    fn interrupted(&mut self) -> Option<i32> {
        None
    }
}

/// Somebody who does not want to wait.
struct Hurried;

impl Lookout for Hurried {
    fn tell(&mut self, _: crate::Notice) {}

    fn interrupted(&mut self) -> Option<i32> {
        Some(2)
    }
}

/// Counts those who wait: they look here, and nobody else does.
struct Counts<'a>(&'a AtomicUsize, bool);

impl Lookout for Counts<'_> {
    fn tell(&mut self, _: crate::Notice) {}

    fn interrupted(&mut self) -> Option<i32> {
        if !std::mem::replace(&mut self.1, true) {
            self.0.fetch_add(1, SeqCst);
        }
        None
    }
}

fn failed(text: &str) -> LaunchError {
    LaunchError { failure: LaunchFailure::Setup(text.into()), remedy: Some("remedy".to_owned()) }
}

#[test]
fn many_who_ask_at_once_get_the_same_thing() {
    let (session, made, barrier) = (Session::new(), AtomicUsize::new(0), Barrier::new(50));
    let ask = || {
        barrier.wait();
        let make = |_: &mut dyn Lookout| {
            std::thread::yield_now();
            Ok(made.fetch_add(1, SeqCst))
        };
        session.share::<usize>("key", &mut Calm, |_| true, make).expect("made")
    };
    let got: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..50).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    assert_eq!(made.load(SeqCst), 1);
    assert!(got.iter().all(|thing| Arc::ptr_eq(thing, &got[0])));
    // The control: another key, and the same key for a thing of another kind.
    let other = session.share::<usize>("other", &mut Calm, |_| true, |_| Ok(made.fetch_add(1, SeqCst)));
    assert_eq!(*other.expect("made"), 1);
    assert_eq!(*session.share::<u8>("key", &mut Calm, |_| true, |_| Ok(7)).expect("made"), 7);
}

#[test]
fn a_failure_is_shared_by_those_who_waited_and_tried_again_by_others() {
    let (session, tries) = (Session::new(), AtomicUsize::new(0));
    let (barrier, waiting) = (Barrier::new(10), AtomicUsize::new(0));
    let ask = || {
        barrier.wait();
        let make = |_: &mut dyn Lookout| {
            tries.fetch_add(1, SeqCst);
            while waiting.load(SeqCst) < 9 {
                std::thread::yield_now();
            }
            Err(failed("no daemon"))
        };
        session.share::<u8>("key", &mut Counts(&waiting, false), |_| true, make).expect_err("failed")
    };
    let errors: Vec<LaunchError> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..10).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    assert_eq!(tries.load(SeqCst), 1);
    for error in errors {
        assert_eq!(error.to_string(), "no daemon\n  remedy: remedy");
    }
    assert_eq!(*session.share::<u8>("key", &mut Calm, |_| true, |_| Ok(1)).expect("another try"), 1);
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
    let make = |_: &mut dyn Lookout| Ok(Tells(&DROPPED));
    let first = session.share("key", &mut Calm, |_: &Tells<'static>| true, make).expect("made");
    let second = session.share("key", &mut Calm, |_: &Tells<'static>| false, make).expect("made");
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
    let share =
        |key: usize| session.share(&key.to_string(), &mut Calm, |_: &Tells<'static>| true, |_| Ok(Tells(&IDLE)));
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

#[test]
fn who_is_interrupted_waits_no_longer_and_takes_nobody_along() {
    let (session, begun, done) = (Session::new(), Barrier::new(2), Barrier::new(2));
    let interrupted = || LaunchError { failure: LaunchFailure::Interrupted(2), remedy: None };
    std::thread::scope(|scope| {
        let maker = scope.spawn(|| {
            let make = |_: &mut dyn Lookout| {
                begun.wait();
                done.wait();
                Err(interrupted())
            };
            session.share::<u8>("key", &mut Calm, |_| true, make)
        });
        begun.wait();
        let hurried = session.share::<u8>("key", &mut Hurried, |_| true, |_| Ok(1)).expect_err("interrupted");
        assert!(matches!(hurried.failure, LaunchFailure::Interrupted(2)));
        let patient = scope.spawn(|| session.share::<u8>("key", &mut Calm, |_| true, |_| Ok(7)));
        done.wait();
        assert!(maker.join().expect("a thread").is_err());
        assert_eq!(*patient.join().expect("a thread").expect("a try of its own"), 7);
    });
}

#[test]
fn a_panic_leaves_nobody_waiting() {
    let session = Session::new();
    let panics =
        std::panic::AssertUnwindSafe(|| session.share::<u8>("key", &mut Calm, |_| true, |_| panic!("on purpose")));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(*session.share::<u8>("key", &mut Calm, |_| true, |_| Ok(1)).expect("made"), 1);
}
