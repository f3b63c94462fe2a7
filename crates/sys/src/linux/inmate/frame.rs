//! What the inmate and its caller say to each other: frames on two byte streams, with a bound on what is on its way.
//!
//! Three streams share one connection, and none may hold up the others: whoever sends bytes of one sends no more of it
//! than the window until the other side says how many it took.

use std::io::{self, Read, Write};
use std::sync::{Condvar, Mutex, PoisonError};

/// The kinds of frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Tag {
    /// Caller: say what you find. A [`Look`](super::Look).
    Look = 1,
    /// Inmate: what was found. A [`Seen`](super::Seen).
    Seen = 2,
    /// Caller: do this. An [`Errand`](super::Errand).
    Errand = 3,
    /// Inmate: the command was started.
    Started = 4,
    /// Inmate: the command could not be executed. The kernel's answer, four bytes.
    NotStarted = 5,
    /// Inmate: something else failed. A text.
    Failed = 6,
    /// Caller: bytes for the command's input; none is its end.
    Input = 7,
    /// Inmate: bytes of its output.
    Output = 8,
    /// Inmate: bytes of its error stream.
    Error = 9,
    /// Either: so many bytes of the input, output or error stream were taken, or [`Window::NOBODY`]. The stream's tag, and
    /// four bytes.
    Took = 10,
    /// Caller: send this signal to the command. Four bytes.
    Signal = 11,
    /// Inmate: the command ended, and everybody else is gone. A [`Done`](super::Done).
    Ended = 12,
}

impl Tag {
    const ALL: [Self; 12] = [
        Self::Look,
        Self::Seen,
        Self::Errand,
        Self::Started,
        Self::NotStarted,
        Self::Failed,
        Self::Input,
        Self::Output,
        Self::Error,
        Self::Took,
        Self::Signal,
        Self::Ended,
    ];

    fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|tag| *tag as u8 == number)
    }
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub tag: Tag,
    /// What it says.
    pub bytes: Vec<u8>,
}

impl Frame {
    /// The number in a frame that is one.
    pub fn number(&self) -> Option<i32> {
        self.bytes.as_slice().try_into().ok().map(i32::from_le_bytes)
    }

    /// The stream and the count in a frame of [`Tag::Took`].
    pub fn took(&self) -> Option<(Tag, usize)> {
        let (stream, count) = self.bytes.split_first()?;
        let count = u32::from_le_bytes(count.try_into().ok()?);
        Some((Tag::of(*stream)?, count as usize))
    }
}

/// The longest frame: arguments and variables of a command fit, and a table of mounts.
const FRAME_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Sends a frame.
pub fn send(to: &mut impl Write, tag: Tag, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length as usize <= FRAME_BYTES_MAX);
    let length = length.ok_or_else(|| io::Error::other("more than one message can hold"))?;
    let mut whole = Vec::with_capacity(bytes.len() + 5);
    whole.push(tag as u8);
    whole.extend_from_slice(&length.to_le_bytes());
    whole.extend_from_slice(bytes);
    to.write_all(&whole)?;
    to.flush()
}

/// Says how many bytes of a stream were taken.
pub(super) fn took(to: &mut impl Write, stream: Tag, count: usize) -> io::Result<()> {
    send(to, Tag::Took, &Window::told(stream, count))
}

/// Receives a frame; `None` is the end, which can only come between two.
pub fn receive(from: &mut impl Read) -> io::Result<Option<Frame>> {
    let mut tag = [0];
    if from.read(&mut tag)? == 0 {
        return Ok(None);
    }
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let (tag, length) = (Tag::of(tag[0]), u32::from_le_bytes(length) as usize);
    let Some(tag) = tag.filter(|_| length <= FRAME_BYTES_MAX) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message that nobody understands"));
    };
    // Not at once: the length is the other side's to say.
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(Frame { tag, bytes }))
}

/// How much of one stream may be on its way.
#[derive(Debug)]
pub struct Window {
    left: Mutex<Option<usize>>,
    changed: Condvar,
}

impl Window {
    /// The most bytes that one frame of a stream has.
    pub const CHUNK_BYTES: usize = 32 * 1024;
    /// The count that says that nobody takes anything any more.
    pub const NOBODY: usize = u32::MAX as usize;
    /// The most bytes of one stream that are on their way at once.
    pub const BYTES: usize = 8 * Self::CHUNK_BYTES;

    /// A window with nothing on its way.
    #[expect(clippy::new_without_default, reason = "a stream begins with one, and nothing else has any use for it")]
    pub fn new() -> Self {
        Self { left: Mutex::new(Some(Self::BYTES)), changed: Condvar::new() }
    }

    /// Waits until something may be sent; says how much. `None` when nothing will be taken any more.
    pub fn wait(&self) -> Option<usize> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.changed.wait_while(left, |left| *left == Some(0)).unwrap_or_else(PoisonError::into_inner);
        left.map(|left| left.min(Self::CHUNK_BYTES))
    }

    /// So much was sent.
    pub fn sent(&self, count: usize) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.map(|left| left.saturating_sub(count));
    }

    /// So much was taken.
    pub fn taken(&self, count: usize) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.map(|left| left.saturating_add(count).min(Self::BYTES));
        self.changed.notify_all();
    }

    /// Nothing will be taken any more.
    pub fn close(&self) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.changed.notify_all();
    }

    /// What a frame of [`Tag::Took`] says.
    pub fn told(stream: Tag, count: usize) -> Vec<u8> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        [&[stream as u8], count.to_le_bytes().as_slice()].concat()
    }
}
