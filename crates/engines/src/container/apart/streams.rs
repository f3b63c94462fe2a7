//! The streams of a command in another kernel: one connection by the daemon, on which everything has to go.

use crate::container::api::{Attached, AttachedInput, Channel, Demux};
use polder_sys::inmate::{Frame, Tag, Window, receive, send};
use polder_sys::wait;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

/// How much of what our program says on its error stream is kept: it has failed then.
const ERRORS_MAX: usize = 2000;

/// What our program inside says, as one stream.
pub(super) struct Voice {
    attached: Attached,
    demux: Demux,
    heard: Vec<u8>,
    taken: usize,
    /// What it complains about, for people.
    errors: Vec<u8>,
    deadline: Option<Instant>,
}

impl Voice {
    pub(super) fn new(attached: Attached) -> Self {
        Self { attached, demux: Demux::new(), heard: Vec::new(), taken: 0, errors: Vec::new(), deadline: None }
    }

    /// The way in.
    pub(super) fn ear(&self) -> io::Result<Ear> {
        self.attached.writer().map(|writer| Ear(Arc::new(Mutex::new(writer))))
    }

    /// The next frame, within this time; `None` at the end.
    pub(super) fn answer(&mut self, patience: Duration) -> io::Result<Option<Frame>> {
        self.deadline = Some(Instant::now() + patience);
        let answer = receive(self);
        self.deadline = None;
        answer
    }

    /// What was complained about, in one line.
    pub(super) fn complaint(&self) -> String {
        let text = String::from_utf8_lossy(&self.errors);
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
    }

    fn wait(&self) -> io::Result<()> {
        let Some(deadline) = self.deadline else { return Ok(()) };
        while !self.attached.has_ahead() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            if wait::readable(&[Some(self.attached.as_fd())], Some(left))?.first() == Some(&true) {
                break;
            }
        }
        Ok(())
    }
}

impl Read for Voice {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.heard.len() {
            self.wait()?;
            (self.taken, self.heard) = (0, Vec::new());
            let mut chunk = [0; 16 * 1024];
            let count = self.attached.read(&mut chunk)?;
            if count == 0 {
                return Ok(0);
            }
            let (heard, errors) = (&mut self.heard, &mut self.errors);
            let split = self.demux.feed(&chunk[..count], &mut |channel, bytes| match channel {
                Channel::Stdout => heard.extend_from_slice(bytes),
                Channel::Stderr if errors.len() < ERRORS_MAX => errors.extend_from_slice(bytes),
                Channel::Stderr => {}
            });
            split.map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))?;
        }
        let count = (self.heard.len() - self.taken).min(into.len());
        into[..count].copy_from_slice(&self.heard[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

/// The way in, one frame at a time.
#[derive(Clone, Debug)]
pub(super) struct Ear(Arc<Mutex<AttachedInput>>);

impl Ear {
    pub(super) fn say(&self, tag: Tag, bytes: &[u8]) -> io::Result<()> {
        send(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), tag, bytes)
    }

    fn took(&self, stream: Tag, count: usize) -> io::Result<()> {
        self.say(Tag::Took, &Window::told(stream, count))
    }
}

/// Carries what comes of a stream to its descriptor, which closes at its end.
pub(super) struct Drain {
    sender: Sender<Vec<u8>>,
    /// How much is on its way to the descriptor.
    waiting: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Drain {
    pub(super) fn new(to: OwnedFd, stream: Tag, ear: &Ear) -> Self {
        let (sender, receiver): (_, Receiver<Vec<u8>>) = channel();
        let (ear, waiting) = (ear.clone(), Arc::new(AtomicUsize::new(0)));
        let left = Arc::clone(&waiting);
        let thread = spawn(move || {
            let mut to = File::from(to);
            while let Ok(bytes) = receiver.recv() {
                let written = to.write_all(&bytes);
                left.fetch_sub(weight(&bytes), Ordering::Relaxed);
                // Where the reader is gone the command has to hear of it, as it would of a closed pipe.
                let count = if written.is_ok() { bytes.len() } else { Window::NOBODY };
                if ear.took(stream, count).is_err() || written.is_err() {
                    return;
                }
            }
        });
        Self { sender, waiting, thread }
    }

    /// Takes what came. Says no where that is more than our program ever sends ahead: then it is not our program that
    /// speaks, and whoever does must not fill our memory.
    pub(super) fn take(&self, bytes: Vec<u8>) -> bool {
        let weight = weight(&bytes);
        let before = self.waiting.fetch_add(weight, Ordering::Relaxed);
        // Nobody receives any more where the reader is gone.
        if self.sender.send(bytes).is_err() {
            self.waiting.fetch_sub(weight, Ordering::Relaxed);
        }
        before + weight <= Window::BYTES + 1
    }

    /// Waits until everything is written.
    pub(super) fn end(self) {
        let Self { sender, thread, .. } = self;
        drop(sender);
        let _ = thread.join();
    }
}

/// What a frame counts for: nothing, sent often enough, fills memory as well.
fn weight(bytes: &[u8]) -> usize {
    bytes.len().max(1)
}

/// Carries a descriptor to the command's input, until that ends or `stop` is closed at its other side.
pub(super) fn fill(from: OwnedFd, stop: UnixStream, window: Arc<Window>, ear: Ear) -> JoinHandle<()> {
    spawn(move || {
        let mut from = File::from(from);
        let mut chunk = vec![0; Window::CHUNK_BYTES];
        while let Some(room) = window.wait() {
            match wait::readable(&[Some(from.as_fd()), Some(stop.as_fd())], None).as_deref() {
                Ok([_, true]) | Err(_) => return,
                Ok([true, _]) => {}
                Ok(_) => continue,
            }
            let count = match from.read(&mut chunk[..room]) {
                Ok(count) => count,
                Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {
                    continue;
                }
                // A terminal whose other side is gone says so by an error.
                Err(_) => 0,
            };
            window.sent(count);
            if ear.say(Tag::Input, &chunk[..count]).is_err() || count == 0 {
                return;
            }
        }
    })
}

#[cfg(test)]
mod tests;
