//! A run in another kernel. The container ends before the run is told to have ended in every way but one: the command's
//! own end, after which there is nobody left in it.

use super::life::Container;
use super::streams::{Drain, Ear, Voice, fill};
use polder_engine::{Ended, Finished, Parting, Report, Running};
use polder_facts::LimitKind;
use polder_sys::inmate::{Done, Frame, Tag, Window, receive};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

const SIGKILL: i32 = 9;

/// How a run came to its end.
enum End {
    /// The command's own.
    Told(Done),
    /// Whatever else happened to the container.
    Lost,
}

/// Tells an end, and rings.
#[derive(Clone)]
struct Teller(Arc<Mutex<(Sender<End>, UnixStream)>>);

impl Teller {
    fn tell(&self, end: End) {
        let mut this = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever does not listen any more has heard an end before.
        let _ = this.0.send(end);
        let _ = this.1.write(&[0]);
    }
}

/// A command that runs.
pub(super) struct ApartRun {
    container: Container,
    ear: Ear,
    bell: UnixStream,
    ends: Receiver<End>,
    teller: Teller,
    input: Option<(UnixStream, JoinHandle<()>)>,
    window: Arc<Window>,
    killed: AtomicBool,
    out_of_memory: bool,
    /// Held until nothing is left.
    _kept: Option<OwnedFd>,
}

impl ApartRun {
    /// Begins to carry the streams of a command that was started.
    pub(super) fn new(
        container: Container,
        voice: Voice,
        ear: Ear,
        [input, output, errors]: [OwnedFd; 3],
        kept: Option<OwnedFd>,
    ) -> io::Result<Self> {
        let (bell, rings) = UnixStream::pair()?;
        let (sender, ends) = channel();
        let teller = Teller(Arc::new(Mutex::new((sender, rings))));
        let window = Arc::new(Window::new());
        let (stop, stopped) = UnixStream::pair()?;
        let filling = fill(input, stopped, Arc::clone(&window), ear.clone());
        let drains = [Drain::new(output, Tag::Output, &ear), Drain::new(errors, Tag::Error, &ear)];
        let (told, taken) = (teller.clone(), Arc::clone(&window));
        spawn(move || listen(voice, drains, &taken, &told));
        Ok(Self {
            container,
            ear,
            bell,
            ends,
            teller,
            input: Some((stop, filling)),
            window,
            killed: AtomicBool::new(false),
            out_of_memory: false,
            _kept: kept,
        })
    }
}

/// Hears our program out.
fn listen(mut voice: Voice, [output, errors]: [Drain; 2], input: &Window, teller: &Teller) {
    let end = loop {
        match receive(&mut voice) {
            Ok(Some(Frame { tag: tag @ (Tag::Output | Tag::Error), bytes })) => {
                let drain = if tag == Tag::Output { &output } else { &errors };
                if !drain.take(bytes) {
                    break End::Lost;
                }
            }
            Ok(Some(frame)) if frame.tag == Tag::Took => input.taken(frame.took().map_or(0, |(_, count)| count)),
            Ok(Some(Frame { tag: Tag::Ended, bytes })) => break Done::from_bytes(&bytes).map_or(End::Lost, End::Told),
            Ok(_) | Err(_) => break End::Lost,
        }
    };
    input.close();
    if let End::Told(_) = end {
        // Everything that the command wrote is where it belongs before its end is told.
        output.end();
        errors.end();
    }
    teller.tell(end);
}

impl Running for ApartRun {
    fn reports(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    fn report(&mut self) -> Report {
        let _ = self.bell.read(&mut [0]);
        let ended = |code, signal, cpu_us, peak_kib: u64| {
            let cpu = Duration::from_micros(cpu_us);
            Report::Ended(Ended { code, signal, cpu, peak_rss_bytes: peak_kib.saturating_mul(1024) })
        };
        match self.ends.recv() {
            Ok(End::Told(Done { code, signal, cpu_us, peak_kib })) => ended(code, signal, cpu_us, peak_kib),
            Ok(End::Lost) | Err(_) => {
                // The kernel of the run is a process of the host: when memory runs out, it ends, and all in it.
                self.out_of_memory = self.container.ran_out_of_memory();
                if self.out_of_memory || self.killed.load(Ordering::Relaxed) {
                    ended(None, Some(SIGKILL), 0, 0)
                } else {
                    Report::Lost
                }
            }
        }
    }

    fn take_terminal(&mut self) -> Option<OwnedFd> {
        None
    }

    fn signal(&self, signal: i32) {
        // A command that is gone already is not an error.
        let _ = self.ear.say(Tag::Signal, &signal.to_le_bytes());
    }

    fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        self.container.kill();
        // Also where somebody who does not read keeps the streams from their end.
        self.teller.tell(End::Lost);
    }

    fn finish(self: Box<Self>, _: Parting) -> Finished {
        let Self { container, ear, input, window, out_of_memory, _kept, .. } = *self;
        let remains = container.remains();
        drop((ear, container));
        window.close();
        if let Some((stop, filling)) = input {
            drop(stop);
            let _ = filling.join();
        }
        let limit = out_of_memory.then_some(LimitKind::Memory);
        Finished { limit, violations: Vec::new(), warnings: remains.take() }
    }
}
