//! The command's streams: pipes and a terminal of the sandbox's own, never a descriptor of the caller's.
//!
//! An open descriptor is more than its bytes. From a directory the command walks through the host's
//! mounts, and on a file or a terminal it can call `fchmod`, `futimens`, `fsetxattr`, `tcsetattr` or
//! set `O_NONBLOCK`, which no file view restricts. So polder carries bytes and lends nothing.

use polder_sys::streams::{self as sys, NotAStream, StreamKind};
use polder_sys::{OutputMode, StreamSet, Terminal, TerminalSize, terminal, wait};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::inlet::Inlet;
use crate::outlet::Outlet;
use crate::relay::{EventSource, OutputRelay, Relay, TerminalRelay};
use polder_facts::Output;

/// Where the command's streams go.
#[derive(Debug)]
pub enum Streams {
    /// Bytes are carried between the command and these descriptors. Those that are terminals appear
    /// inside as a terminal of the sandbox's own.
    Relayed {
        /// Standard input.
        stdin: OwnedFd,
        /// Standard output.
        stdout: OwnedFd,
        /// Standard error.
        stderr: OwnedFd,
    },
    /// Output comes as events.
    Events {
        /// Standard input.
        stdin: OwnedFd,
    },
    /// A terminal of the sandbox's own for all three, relayed to these descriptors.
    Terminal {
        /// The caller's terminal, read.
        input: OwnedFd,
        /// The caller's terminal, written.
        output: OwnedFd,
        /// Its size.
        size: TerminalSize,
    },
}

/// A descriptor that cannot be a stream of a command.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// It is not made for bytes.
    #[error("{stream} is {what}, and a command could do more with it than read and write\n  remedy: {}", stream.remedy())]
    Unfit {
        /// Which stream.
        stream: StreamName,
        /// Its kind.
        what: &'static str,
    },
    /// It could not be looked at, or a pipe could not be made.
    #[error("cannot set up {stream}")]
    Setup {
        /// Which stream.
        stream: StreamName,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The caller's file does not take the command's output.
    #[error("cannot write {stream} of the command")]
    Write {
        /// Which stream.
        stream: StreamName,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// One of the three streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamName {
    /// Standard input.
    Input,
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl StreamName {
    const fn remedy(self) -> &'static str {
        match self {
            Self::Input => "redirect it from a file, a pipe or /dev/null",
            Self::Output | Self::Error => "redirect it to a file, a pipe or /dev/null",
        }
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "standard input",
            Self::Output => "standard output",
            Self::Error => "standard error",
        })
    }
}

/// The kind of a descriptor, if it can be a stream.
pub(crate) fn judge(fd: BorrowedFd<'_>, stream: StreamName) -> Result<StreamKind, StreamError> {
    let kind = sys::kind(fd).map_err(|source| StreamError::Setup { stream, source })?;
    kind.map_err(|unfit| {
        let what = match unfit {
            NotAStream::Directory => "a directory",
            NotAStream::Path => "a handle of a path (O_PATH)",
            NotAStream::MessageSocket => "a socket that carries messages",
            NotAStream::Handle => "a handle of the kernel's",
        };
        StreamError::Unfit { stream, what }
    })
}

/// The command's streams, and polder's ends of them.
pub(crate) struct Connected {
    pub(crate) stdio: [OwnedFd; 3],
    pub(crate) terminal: Option<Terminal>,
    pub(crate) relay: Relay,
}

/// Makes the command's streams. Counting output means that it has to come as events.
pub(crate) fn connect(streams: Streams, counted: bool) -> Result<Connected, StreamError> {
    match streams {
        Streams::Events { stdin } => as_events(stdin),
        Streams::Relayed { stdin, .. } if counted => as_events(stdin),
        Streams::Relayed { stdin, stdout, stderr } => relayed(stdin, stdout, stderr),
        Streams::Terminal { input, output, size } => {
            let null = || null().map_err(|source| StreamError::Setup { stream: StreamName::Input, source });
            let relay = TerminalRelay::new(Some(input), Outlet::new(output, StreamKind::Terminal));
            Ok(Connected {
                stdio: [null()?, null()?, null()?],
                terminal: Some(Terminal { size, streams: StreamSet::ALL, output: OutputMode::Processed }),
                relay: Relay { terminal: Some(relay), ..Relay::default() },
            })
        }
    }
}

fn as_events(stdin: OwnedFd) -> Result<Connected, StreamError> {
    let kind = judge(stdin.as_fd(), StreamName::Input)?;
    let mut relay = Relay::default();
    let stdin = input(stdin, kind, &mut relay)?;
    let mut output = |stream, output| -> Result<OwnedFd, StreamError> {
        let (read, write) = wait::pipe().map_err(|source| StreamError::Setup { stream, source })?;
        let source = EventSource::new(output, read).map_err(|source| StreamError::Setup { stream, source })?;
        relay.events.push(source);
        Ok(write)
    };
    let stdio = [stdin, output(StreamName::Output, Output::Stdout)?, output(StreamName::Error, Output::Stderr)?];
    Ok(Connected { stdio, terminal: None, relay })
}

/// Every stream as what it is for the caller: a terminal as a terminal, the rest as pipes.
fn relayed(stdin: OwnedFd, stdout: OwnedFd, stderr: OwnedFd) -> Result<Connected, StreamError> {
    let kinds = [
        judge(stdin.as_fd(), StreamName::Input)?,
        judge(stdout.as_fd(), StreamName::Output)?,
        judge(stderr.as_fd(), StreamName::Error)?,
    ];
    let on_terminal = kinds.map(|kind| kind == StreamKind::Terminal);
    let setup = |stream| move |source| StreamError::Setup { stream, source };
    let mut relay = Relay::default();
    let mut asked = None;
    if on_terminal.contains(&true) {
        // Its output goes where the caller sees the command's; what is typed is echoed there, too.
        let shown = if on_terminal[1] {
            &stdout
        } else if on_terminal[2] {
            &stderr
        } else {
            &stdin
        };
        let size = terminal::size(shown.as_fd()).map_err(setup(StreamName::Output))?;
        let outlet = Outlet::new(shown.try_clone().map_err(setup(StreamName::Output))?, StreamKind::Terminal);
        let typed = on_terminal[0].then(|| stdin.try_clone()).transpose().map_err(setup(StreamName::Input))?;
        // While polder reads the caller's terminal key by key, that one leaves newlines as they are.
        let output = if on_terminal[0] { OutputMode::Processed } else { OutputMode::Plain };
        asked = Some(Terminal { size, streams: StreamSet::of(on_terminal), output });
        relay.terminal = Some(TerminalRelay::new(typed, outlet));
    }
    // A stream that is the terminal gets a pipe as well, for an engine that can make no terminal.
    let one_stream = sys::is_same(stdout.as_fd(), stderr.as_fd()).map_err(setup(StreamName::Error))?;
    let stdin = input(stdin, kinds[0], &mut relay)?;
    let out = output(stdout, kinds[1], StreamName::Output, &mut relay)?;
    let err = if one_stream {
        // One pipe for both, so that lines stay in the order in which the command wrote them.
        out.try_clone().map_err(setup(StreamName::Error))?
    } else {
        output(stderr, kinds[2], StreamName::Error, &mut relay)?
    };
    Ok(Connected { stdio: [stdin, out, err], terminal: asked, relay })
}

fn null() -> io::Result<OwnedFd> {
    std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").map(OwnedFd::from)
}

fn input(from: OwnedFd, kind: StreamKind, relay: &mut Relay) -> Result<OwnedFd, StreamError> {
    let setup = |source| StreamError::Setup { stream: StreamName::Input, source };
    if kind == StreamKind::Null {
        return null().map_err(setup);
    }
    let (read, write) = wait::pipe().map_err(setup)?;
    let theirs = read.try_clone().map_err(setup)?;
    relay.input = Some(Inlet::new(from, kind, theirs, write).map_err(setup)?);
    Ok(read)
}

fn output(to: OwnedFd, kind: StreamKind, stream: StreamName, relay: &mut Relay) -> Result<OwnedFd, StreamError> {
    let setup = |source| StreamError::Setup { stream, source };
    if kind == StreamKind::Null {
        return null().map_err(setup);
    }
    let (read, write) = wait::pipe().map_err(setup)?;
    relay.outputs.push(OutputRelay::new(stream, read, Outlet::new(to, kind), kind).map_err(setup)?);
    Ok(write)
}
