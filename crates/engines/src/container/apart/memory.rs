//! Whether the memory of a container ran out, as its own cgroup counts it.
//!
//! The daemon hears of that from others, and on a busy machine one such message in ten never reaches it. The cgroup knows,
//! but it is gone before the container's streams end. So it is looked at while the container runs.

use polder_sys::cgroup::Watched;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Between two looks. The daemon starts a program or two to take a dead container away, which takes longer on any machine that
/// is busy for both of us; what is missed all the same, the daemon mostly knows.
const BETWEEN: Duration = Duration::from_millis(10);

/// Looks until the memory has run out, or until this is dropped.
#[derive(Debug)]
pub(super) struct MemoryWatch {
    ran_out: Arc<AtomicBool>,
    /// Dropping it is what the thread waits for.
    wanted: Option<Sender<Infallible>>,
    looking: Option<JoinHandle<()>>,
}

impl MemoryWatch {
    pub(super) fn of(watched: Watched) -> io::Result<Self> {
        Self::by(move || watched.counted().memory)
    }

    /// With whatever tells how many processes were killed for want of memory so far.
    fn by(killed: impl Fn() -> u64 + Send + 'static) -> io::Result<Self> {
        let ran_out = Arc::new(AtomicBool::new(false));
        let (wanted, given_up) = channel::<Infallible>();
        let told = Arc::clone(&ran_out);
        let looking = Builder::new().spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = given_up.recv_timeout(BETWEEN) {
                if killed() > 0 {
                    return told.store(true, Ordering::Relaxed);
                }
            }
        })?;
        Ok(Self { ran_out, wanted: Some(wanted), looking: Some(looking) })
    }

    pub(super) fn ran_out(&self) -> bool {
        self.ran_out.load(Ordering::Relaxed)
    }
}

impl Drop for MemoryWatch {
    fn drop(&mut self) {
        drop(self.wanted.take());
        if let Some(looking) = self.looking.take() {
            let _ = looking.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::time::Instant;

    /// The count of a cgroup, which is gone as soon as somebody has read it.
    #[test]
    fn what_was_seen_once_stays_true_when_the_cgroup_is_gone() {
        let count = Arc::new(AtomicU64::new(0));
        let read = Arc::clone(&count);
        let watch = MemoryWatch::by(move || read.swap(0, Ordering::Relaxed)).expect("a thread");
        std::thread::sleep(4 * BETWEEN);
        assert!(!watch.ran_out(), "the control: nothing was killed");
        count.store(1, Ordering::Relaxed);
        let begun = Instant::now();
        while !watch.ran_out() && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(BETWEEN);
        }
        assert!(watch.ran_out());
        assert_eq!(count.load(Ordering::Relaxed), 0, "the count is gone");
    }

    #[test]
    fn nobody_looks_any_more_when_it_is_dropped() {
        let looked = Arc::new(AtomicU64::new(0));
        let looks = Arc::clone(&looked);
        let watch = MemoryWatch::by(move || {
            looks.fetch_add(1, Ordering::Relaxed);
            0
        })
        .expect("a thread");
        let begun = Instant::now();
        while looked.load(Ordering::Relaxed) == 0 && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(BETWEEN);
        }
        drop(watch);
        let before = looked.load(Ordering::Relaxed);
        assert!(before > 0, "the control: somebody looked");
        std::thread::sleep(4 * BETWEEN);
        assert_eq!(looked.load(Ordering::Relaxed), before);
    }
}
