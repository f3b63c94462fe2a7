//! Writing polder's own words without being held by a reader that does not read.
//!
//! A message waits for its reader as long as the run may take, and without a bound where the run has
//! none. A signal that asks polder to end ends the wait, too: the signal is blocked while a run is
//! looked after, so a plain write(2) would go on.

use crate::run::stream;
use polder_run::EventOutlet;
use polder_sys::wait;
use std::cell::{Cell, OnceCell};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// How long a message waits for its reader when the run's time is up.
const MOMENT: Duration = Duration::from_millis(250);
/// How long a wait goes on before signals are looked at.
const LOOK: Duration = Duration::from_millis(20);

thread_local! {
    /// Standard output and standard error; absent where they are no streams of bytes.
    static OUTLETS: [OnceCell<Option<EventOutlet>>; 2] = const { [OnceCell::new(), OnceCell::new()] };
    /// When the run's time is up.
    static UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// One of polder's own streams.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Own {
    Stdout,
    Stderr,
}

/// Bounds the waits of this thread for readers: until then, and for a moment after it.
pub(crate) fn wait_until(until: Option<Instant>) {
    UNTIL.set(until);
}

/// Writes all of it, unless its reader does not take it in time.
pub(crate) fn put(own: Own, bytes: &[u8]) -> io::Result<()> {
    OUTLETS.with(|outlets| {
        let (index, number) = match own {
            Own::Stdout => (0, 1),
            Own::Stderr => (1, 2),
        };
        let outlet = outlets[index].get_or_init(|| stream(number).ok().and_then(|fd| EventOutlet::new(fd).ok()));
        let Some(outlet) = outlet else { return put_plainly(own, bytes) };
        outlet.write(bytes)?;
        let moment = Instant::now() + MOMENT;
        outlet.finish(&|| {
            let bound = if wait::is_asked_to_end() { Some(moment) } else { UNTIL.get().map(|until| until.max(moment)) };
            let left = bound.map_or(LOOK, |bound| bound.saturating_duration_since(Instant::now()));
            (!left.is_zero()).then(|| left.min(LOOK))
        })
    })
}

fn put_plainly(own: Own, bytes: &[u8]) -> io::Result<()> {
    match own {
        Own::Stdout => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
        Own::Stderr => io::stderr().write_all(bytes),
    }
}
