//! Every stream of a run between the command and the caller, a step at a time, never waiting.

use crate::inlet::Inlet;
use crate::outlet::Outlet;
use crate::streams::{StreamError, StreamName};
use polder_facts::Output;
use polder_sys::streams::{self, Direction, StreamKind};
use polder_sys::terminal::{self, RawMode};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// Keys that wait for a command that does not read; more stay in the caller's terminal.
const TYPED_BYTES_MAX: usize = 64 * 1024;
/// How soon polder looks again whether the caller's terminal is its own.
const FOREGROUND_LOOK: Duration = Duration::from_millis(200);

/// The streams of one run.
#[derive(Default)]
pub(crate) struct Relay {
    pub(crate) input: Option<Inlet>,
    pub(crate) outputs: Vec<OutputRelay>,
    pub(crate) events: Vec<EventSource>,
    pub(crate) terminal: Option<TerminalRelay>,
}

/// A part of a relay that waits for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The caller's input, or the command's pipe for it.
    Input,
    /// An output that is carried on.
    Output(usize),
    /// An output that becomes events.
    Event(usize),
    /// The caller's keys.
    Keys,
    /// The terminal inside, for keys.
    KeysInside,
    /// The terminal inside, for the screen.
    Screen,
    /// The caller's terminal, for the screen.
    ScreenOutside,
}

/// Waiting: a part, its descriptor, and which way bytes are to go.
pub(crate) type Awaited<'a> = (Part, BorrowedFd<'a>, Direction);

impl Relay {
    /// Decides between the terminal and the pipes that stand in for it, once the engine has started:
    /// one without terminals gives no side of any.
    pub(crate) fn settle(&mut self, master: Option<OwnedFd>) -> io::Result<()> {
        match (master, &mut self.terminal) {
            (Some(master), Some(relay)) => {
                relay.begin(master)?;
                self.input.take_if(|input| input.is_terminal());
                self.outputs.retain(|output| !output.is_terminal());
            }
            (None, Some(_)) => self.terminal = None,
            (_, None) => {}
        }
        Ok(())
    }

    /// Everything that waits; output that becomes events only if `events` has room for it.
    pub(crate) fn awaited<'a>(&'a self, events_have_room: bool) -> Vec<Awaited<'a>> {
        let mut list: Vec<Awaited<'a>> = Vec::with_capacity(6);
        let mut add = |part, awaited: Option<(BorrowedFd<'a>, Direction)>| {
            list.extend(awaited.map(|(fd, direction)| (part, fd, direction)));
        };
        add(Part::Input, self.input.as_ref().and_then(Inlet::awaited));
        for (index, output) in self.outputs.iter().enumerate() {
            add(Part::Output(index), output.awaited());
        }
        if events_have_room {
            for (index, source) in self.events.iter().enumerate() {
                add(Part::Event(index), source.from.as_ref().map(|from| (from.as_fd(), Direction::Read)));
            }
        }
        if let Some(terminal) = &self.terminal {
            terminal.awaited(&mut add);
        }
        list
    }

    /// When to look again without being woken.
    pub(crate) fn next_look(&self) -> Option<Duration> {
        let background = self.input.as_ref().is_some_and(Inlet::is_in_background)
            || self.terminal.as_ref().is_some_and(TerminalRelay::is_in_background);
        background.then_some(FOREGROUND_LOOK)
    }

    /// One step of a part that is not an event.
    pub(crate) fn step(&mut self, part: Part) {
        match part {
            Part::Input => self.input.iter_mut().for_each(Inlet::step),
            Part::Output(index) => {
                if let Some(output) = self.outputs.get_mut(index) {
                    output.step();
                }
            }
            Part::Event(_) => {}
            Part::Keys | Part::KeysInside | Part::Screen | Part::ScreenOutside => {
                if let Some(terminal) = &mut self.terminal {
                    terminal.step(part);
                }
            }
        }
    }

    /// Gives the terminal inside the size of the caller's.
    pub(crate) fn fit_size(&self) -> io::Result<()> {
        self.terminal.as_ref().map_or(Ok(()), TerminalRelay::fit_size)
    }

    /// Takes from the pipes what the command left there; its processes are gone. Says whether the
    /// caller has taken all of it.
    pub(crate) fn drain(&mut self) -> bool {
        for output in &mut self.outputs {
            output.drain();
        }
        if let Some(terminal) = &mut self.terminal {
            terminal.drain();
        }
        self.undelivered_bytes() == 0
    }

    /// Output that the caller has not taken.
    pub(crate) fn undelivered_bytes(&self) -> usize {
        let screen = self.terminal.iter().map(|terminal| terminal.output.pending_bytes());
        self.outputs.iter().map(OutputRelay::undelivered_bytes).chain(screen).sum()
    }

    /// What waits for the caller to take it.
    pub(crate) fn awaited_by_caller(&self) -> Vec<Awaited<'_>> {
        let mut list = self.awaited(false);
        list.retain(|(part, _, direction)| {
            *direction == Direction::Write && matches!(part, Part::Output(_) | Part::ScreenOutside)
        });
        list
    }

    /// Gives the caller's input and terminal back. An output that could not be written is an error.
    pub(crate) fn finish(self) -> Result<(), StreamError> {
        let Self { input, outputs, events: _, terminal } = self;
        if let Some(input) = input {
            input.finish();
        }
        drop(terminal);
        for OutputRelay { stream, mut to, .. } in outputs {
            if let Some(source) = to.take_failure() {
                return Err(StreamError::Write { stream, source });
            }
        }
        Ok(())
    }
}

/// The side that keeps bytes from moving between two pipes: the second one if the first has some.
pub(crate) fn side_to_wait_for(from: BorrowedFd<'_>) -> Direction {
    if streams::waiting(from).is_ok_and(|bytes| bytes > 0) { Direction::Write } else { Direction::Read }
}

/// One of the command's outputs, carried to a descriptor of the caller's.
pub(crate) struct OutputRelay {
    stream: StreamName,
    /// Absent when every end in the sandbox is closed, or when the reader is gone: then the command
    /// gets SIGPIPE.
    from: Option<File>,
    to: Outlet,
    kind: StreamKind,
    awaited: Direction,
    buffer: Vec<u8>,
}

impl OutputRelay {
    pub(crate) fn new(stream: StreamName, from: OwnedFd, to: Outlet, kind: StreamKind) -> io::Result<Self> {
        streams::never_wait(from.as_fd())?;
        Ok(Self { stream, from: Some(from.into()), to, kind, awaited: Direction::Read, buffer: Vec::new() })
    }

    fn is_terminal(&self) -> bool {
        self.kind == StreamKind::Terminal
    }

    fn awaited(&self) -> Option<(BorrowedFd<'_>, Direction)> {
        self.to.awaited().or_else(|| {
            let from = self.from.as_ref()?;
            Some(match self.awaited {
                Direction::Read => (from.as_fd(), Direction::Read),
                Direction::Write => (self.to.fd(), Direction::Write),
            })
        })
    }

    fn step(&mut self) {
        self.to.flush();
        if self.to.pending_bytes() == 0 {
            self.advance();
        }
    }

    /// Carries one chunk. Says whether there may be more to carry now.
    fn advance(&mut self) -> bool {
        let Some(from) = &mut self.from else { return false };
        let moved = if self.to.is_free_pipe() {
            let moved = streams::splice(from.as_fd(), self.to.fd(), CHUNK_BYTES);
            if let Err(error) = &moved
                && error.kind() == ErrorKind::BrokenPipe
            {
                self.to.fail(ErrorKind::BrokenPipe.into());
            }
            moved
        } else {
            self.buffer.resize(CHUNK_BYTES, 0);
            let got = from.read(&mut self.buffer);
            if let Ok(got) = got {
                self.to.write(&self.buffer[..got]);
            }
            got
        };
        let more = match moved {
            Ok(0) => {
                self.from = None;
                false
            }
            Ok(_) => {
                self.awaited = Direction::Read;
                true
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            Err(error) => {
                if error.kind() == ErrorKind::WouldBlock {
                    self.awaited = side_to_wait_for(from.as_fd());
                }
                false
            }
        };
        if !self.to.is_open() {
            self.from = None;
        }
        more
    }

    /// Carries all that is there now and that the caller takes.
    fn drain(&mut self) {
        self.to.flush();
        while self.to.pending_bytes() == 0 && self.advance() {}
    }

    fn undelivered_bytes(&self) -> usize {
        let inside = self.from.as_ref().map_or(0, |from| streams::waiting(from.as_fd()).unwrap_or(0));
        inside + self.to.pending_bytes()
    }
}

/// One of the command's outputs, for events.
pub(crate) struct EventSource {
    pub(crate) output: Output,
    from: Option<File>,
    buffer: Vec<u8>,
}

impl EventSource {
    pub(crate) fn new(output: Output, from: OwnedFd) -> io::Result<Self> {
        streams::never_wait(from.as_fd())?;
        Ok(Self { output, from: Some(from.into()), buffer: Vec::new() })
    }

    /// The bytes that are there now; absent when there are none.
    pub(crate) fn chunk(&mut self) -> Option<&[u8]> {
        let from = self.from.as_mut()?;
        self.buffer.resize(CHUNK_BYTES, 0);
        loop {
            match from.read(&mut self.buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Ok(got) if got > 0 => return Some(&self.buffer[..got]),
                Ok(_) | Err(_) => {
                    self.from = None;
                    return None;
                }
            }
        }
    }
}

/// The terminal inside, and the caller's.
pub(crate) struct TerminalRelay {
    /// The caller's keys, where standard input is the terminal.
    keys: Option<File>,
    /// The caller's screen.
    pub(crate) output: Outlet,
    /// Our side of the terminal inside.
    master: Option<File>,
    typed: Vec<u8>,
    typed_written: usize,
    /// The caller's terminal hands every key through while this is held.
    raw: Option<RawMode>,
    buffer: Vec<u8>,
}

impl TerminalRelay {
    pub(crate) fn new(keys: Option<OwnedFd>, output: Outlet) -> Self {
        let (typed, buffer) = (Vec::new(), Vec::new());
        Self { keys: keys.map(File::from), output, master: None, typed, typed_written: 0, raw: None, buffer }
    }

    fn begin(&mut self, master: OwnedFd) -> io::Result<()> {
        streams::never_wait(master.as_fd())?;
        self.master = Some(master.into());
        self.take_keys()
    }

    /// From here on the keys are the command's; not while another job of the caller's has the terminal.
    fn take_keys(&mut self) -> io::Result<()> {
        if let Some(keys) = &self.keys
            && self.raw.is_none()
            && streams::is_foreground(keys.as_fd())
        {
            self.raw = Some(RawMode::enter(keys.as_fd())?);
        }
        Ok(())
    }

    fn is_in_background(&self) -> bool {
        self.keys.is_some() && self.raw.is_none()
    }

    fn typed_bytes(&self) -> usize {
        self.typed.len() - self.typed_written
    }

    fn awaited<'a>(&'a self, add: &mut impl FnMut(Part, Option<(BorrowedFd<'a>, Direction)>)) {
        let Some(master) = &self.master else { return };
        if self.raw.is_some() && self.typed_bytes() < TYPED_BYTES_MAX {
            add(Part::Keys, self.keys.as_ref().map(|keys| (keys.as_fd(), Direction::Read)));
        }
        if self.typed_bytes() > 0 {
            add(Part::KeysInside, Some((master.as_fd(), Direction::Write)));
        }
        add(Part::ScreenOutside, self.output.awaited());
        if !self.output.is_full() {
            add(Part::Screen, Some((master.as_fd(), Direction::Read)));
        }
    }

    fn step(&mut self, part: Part) {
        match part {
            Part::Keys => self.read_keys(),
            Part::ScreenOutside => self.output.flush(),
            Part::Screen => drop(self.show()),
            Part::KeysInside | Part::Input | Part::Output(_) | Part::Event(_) => {}
        }
        self.type_in();
    }

    /// Looks whether the terminal has become ours.
    pub(crate) fn look(&mut self) {
        if self.is_in_background() && self.take_keys().is_err() {
            self.keys = None;
        }
    }

    fn read_keys(&mut self) {
        let Some(keys) = &mut self.keys else { return };
        self.buffer.resize(CHUNK_BYTES, 0);
        match keys.read(&mut self.buffer) {
            Ok(got) if got > 0 => self.typed.extend_from_slice(&self.buffer[..got]),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            // The caller's terminal hung up.
            Ok(_) | Err(_) => self.keys = None,
        }
    }

    fn type_in(&mut self) {
        let Some(master) = &mut self.master else { return };
        if self.typed_written < self.typed.len() {
            match master.write(&self.typed[self.typed_written..]) {
                Ok(put) => self.typed_written += put,
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                // The other side is gone; the report of its end is on the way.
                Err(_) => self.typed_written = self.typed.len(),
            }
        }
        if self.typed_written == self.typed.len() {
            self.typed.clear();
            self.typed_written = 0;
        }
    }

    /// Shows one chunk. Says whether there may be more.
    fn show(&mut self) -> bool {
        let Some(master) = &mut self.master else { return false };
        self.buffer.resize(CHUNK_BYTES, 0);
        match master.read(&mut self.buffer) {
            Ok(got) if got > 0 => {
                self.output.write(&self.buffer[..got]);
                true
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            // A terminal whose other side is gone says EIO; for a reader that is the end.
            Ok(_) | Err(_) => {
                self.master = None;
                false
            }
        }
    }

    fn drain(&mut self) {
        self.output.flush();
        while !self.output.is_full() && self.show() {}
    }

    fn fit_size(&self) -> io::Result<()> {
        match (&self.master, terminal::size(self.output.fd())) {
            (Some(master), Ok(size)) => terminal::resize(master.as_fd(), size),
            _ => Ok(()),
        }
    }
}
