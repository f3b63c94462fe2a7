//! Seeing whether a process inside lives, by a lock that the kernel takes away when its last holder is gone.

use crate::place::Place;
use std::fs::{File, OpenOptions};
use std::time::{Duration, Instant};

/// Nothing that a test waits for takes this long; only a failure does.
const DEADLINE: Duration = Duration::from_secs(60);

/// Between two looks.
pub fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

/// Waits until something holds; panics with what was waited for.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not come");
        pause();
    }
}

/// A shell text for the inside: starts a daemon that left its session, forked twice and ignores every polite signal;
/// goes on when it holds its lock.
pub fn hold(rest: &str) -> String {
    format!(
        "cat >/tmp/daemon <<'E'\n\
         import fcntl,os,signal,time\n\
         f = open('lock', 'w')\n\
         if os.fork(): os._exit(0)\n\
         os.setsid()\n\
         if os.fork(): os._exit(0)\n\
         for s in (1, 2, 3, 15): signal.signal(s, signal.SIG_IGN)\n\
         fcntl.flock(f, fcntl.LOCK_EX)\n\
         open('held', 'w').close()\n\
         time.sleep(600)\n\
         E\n\
         python3 /tmp/daemon; while ! test -e held; do :; done; {rest}"
    )
}

/// The lock of such a daemon.
#[derive(Debug)]
pub struct Held {
    file: File,
}

impl Held {
    /// The lock, before anybody holds it.
    pub fn new(place: &Place) -> Self {
        let path = place.write("work/lock", "");
        Self { file: OpenOptions::new().read(true).write(true).open(path).expect("the lock") }
    }

    /// Waits until the daemon lives.
    pub fn begun(&self, place: &Place) {
        until("the daemon", || place.has("work/held"));
        assert!(!self.is_free(), "the daemon holds its lock");
    }

    /// Whether nobody holds it.
    pub fn is_free(&self) -> bool {
        let free = self.file.try_lock().is_ok();
        if free {
            self.file.unlock().expect("our own lock");
        }
        free
    }

    /// Waits until the daemon is gone.
    pub fn ended(&self) {
        until("the end of the daemon", || self.is_free());
    }
}
