//! Why a call to a daemon failed.

use std::io;
use std::path::{Path, PathBuf};

/// Why a call to a daemon failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// There is nothing at the socket's path.
    #[error("there is no socket `{}`", socket.display())]
    NoSocket { socket: PathBuf },
    /// The caller may not use the socket.
    #[error("no permission on the socket `{}`", socket.display())]
    NoPermission { socket: PathBuf },
    /// There is a socket, and nobody behind it.
    #[error("nobody answers at `{}`", socket.display())]
    NobodyAnswers { socket: PathBuf, source: io::Error },
    /// Somebody listens whom the caller has no reason to trust.
    #[error("uid {uid} listens at `{}`, who is neither root nor the caller", socket.display())]
    Stranger { socket: PathBuf, uid: u32 },
    /// The deadline passed.
    #[error("the daemon did not finish in time: {doing}")]
    Late { doing: String },
    /// The connection broke.
    #[error("the connection to the daemon broke: {doing}")]
    Broken { doing: String, source: io::Error },
    /// What came back is not an answer.
    #[error("the daemon's answer makes no sense ({what}): {doing}")]
    Garbled { doing: String, what: &'static str },
    /// More came back than is taken.
    #[error("the daemon's answer is longer than {limit_bytes} bytes: {doing}")]
    TooLong { doing: String, limit_bytes: u64 },
    /// The daemon answered with an error of its own.
    #[error("{said}")]
    Refused { status: u16, said: String },
    /// A build or a pull ended with an error; the last lines before it, in order.
    #[error("{said}")]
    Failed { said: String, last_lines: Vec<String> },
    /// The caller did not want to wait any longer.
    #[error("nobody waits for it any more: {doing}")]
    GivenUp { doing: String },
    /// What the caller gave could not be read.
    #[error("cannot read what was to be sent: {doing}")]
    Source { doing: String, source: io::Error },
}

impl ApiError {
    /// What to do about it, where that is known.
    pub(crate) fn remedy(&self) -> Option<String> {
        match self {
            Self::NoSocket { .. } => Some("start the daemon, or say where it listens".to_owned()),
            Self::NoPermission { socket } => Some(format!(
                "join the group that owns `{}`, or use a daemon of your own (a rootless one)",
                socket.display()
            )),
            Self::NobodyAnswers { .. } => Some("start the daemon; the socket is left from an earlier one".to_owned()),
            Self::Stranger { .. } => Some("use a daemon of root's or of your own".to_owned()),
            Self::Late { .. } => Some("see what the daemon is doing; its log says more".to_owned()),
            Self::Broken { .. }
            | Self::Garbled { .. }
            | Self::TooLong { .. }
            | Self::Refused { .. }
            | Self::Failed { .. }
            | Self::GivenUp { .. }
            | Self::Source { .. } => None,
        }
    }

    /// Whether the daemon says that there is no such thing.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// Whether the daemon says that it is so already, or that something else is in the way.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { status: 409, .. })
    }

    /// Whether the daemon met its own work on the same container, so that asking again a moment later helps.
    pub(crate) fn is_momentary(&self) -> bool {
        matches!(self, Self::Refused { status: 500, said } if said.contains("container state improper"))
    }

    /// A connection that was not made.
    pub(super) fn connecting(socket: &Path, source: io::Error) -> Self {
        let socket = socket.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::NoSocket { socket },
            io::ErrorKind::PermissionDenied => Self::NoPermission { socket },
            _ => Self::NobodyAnswers { socket, source },
        }
    }

    /// A connection that was made and did not last.
    pub(super) fn talking(doing: &str, source: io::Error) -> Self {
        let doing = doing.to_owned();
        match source.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::Late { doing },
            _ => Self::Broken { doing, source },
        }
    }
}

/// How much of one message is shown.
const SAID_CHARS_MAX: usize = 2_000;

/// A daemon's words, fit for a terminal: without control characters, not longer than people read.
pub(crate) fn readable(text: &str) -> String {
    let text = text.trim();
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut said: String = text
        .chars()
        .take(SAID_CHARS_MAX)
        .map(|c| if c == '\n' || c == '\t' { ' ' } else { c })
        .map(|c| if c.is_control() || turns(c) { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(SAID_CHARS_MAX).is_some() {
        said.push('…');
    }
    said
}
