//! What a daemon says while it pulls or builds: one JSON value a line, the last of which may be an error.

use super::body::Body;
use super::client::reading;
use super::error::{ApiError, readable};
use serde::Deserialize;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::time::Duration;

/// The longest line.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// How many of the last lines an error shows.
const LAST_LINES: usize = 20;

/// How often a caller is asked whether it still waits while a daemon says nothing.
const GLANCE: Duration = Duration::from_millis(200);

/// Who hears what a daemon says: nothing, for a moment in which it says nothing. Breaking off ends the request, and with it
/// what the daemon does.
pub(crate) type Hearing<'a> = dyn FnMut(Option<Progress>) -> ControlFlow<()> + 'a;

/// One thing that a daemon said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A line of a build.
    Line(String),
    /// A part of an image and how far it is.
    Part { id: String, doing: String, current_bytes: Option<u64>, total_bytes: Option<u64> },
    /// The id of the image that was made.
    Made(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineWire {
    stream: Option<String>,
    status: Option<String>,
    id: Option<String>,
    progress_detail: Option<DetailWire>,
    error: Option<String>,
    aux: Option<AuxWire>,
}

#[derive(Deserialize)]
struct DetailWire {
    current: Option<u64>,
    total: Option<u64>,
}

#[derive(Deserialize)]
struct AuxWire {
    #[serde(rename = "ID")]
    id: Option<String>,
}

/// Waits until a daemon says something, as long as the caller waits.
pub(super) fn wait(
    doing: &str,
    is_ready: &mut dyn FnMut(Duration) -> io::Result<bool>,
    hearing: &mut Hearing<'_>,
) -> Result<(), ApiError> {
    loop {
        if is_ready(GLANCE).map_err(|error| reading(doing, error))? {
            return Ok(());
        }
        tell(doing, None, hearing)?;
    }
}

fn tell(doing: &str, said: Option<Progress>, hearing: &mut Hearing<'_>) -> Result<(), ApiError> {
    match hearing(said) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ApiError::GivenUp { doing: doing.to_owned() }),
    }
}

/// Reads everything that a daemon says, hands it on, and remembers the last lines for the error.
pub(super) fn follow(mut body: Body, doing: &str, hearing: &mut Hearing<'_>) -> Result<(), ApiError> {
    let mut last = VecDeque::new();
    let mut pending = Vec::new();
    let mut chunk = vec![0; 16 * 1024];
    loop {
        wait(doing, &mut |patience| body.is_ready(patience), hearing)?;
        let count = body.read(&mut chunk).map_err(|error| reading(doing, error))?;
        pending.extend_from_slice(&chunk[..count]);
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            hear(&line, doing, &mut last, hearing)?;
        }
        if pending.len() > LINE_BYTES_MAX {
            return Err(ApiError::TooLong { doing: doing.to_owned(), limit_bytes: LINE_BYTES_MAX as u64 });
        }
        if count == 0 {
            return hear(&pending, doing, &mut last, hearing);
        }
    }
}

fn hear(line: &[u8], doing: &str, last: &mut VecDeque<String>, hearing: &mut Hearing<'_>) -> Result<(), ApiError> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let mut heard = |progress| tell(doing, Some(progress), hearing);
    let garbled = |_| ApiError::Garbled { doing: doing.to_owned(), what: "a line of progress that is not JSON" };
    let LineWire { stream, status, id, progress_detail, error, aux } = serde_json::from_slice(line).map_err(garbled)?;
    if let Some(text) = &stream {
        for line in text.split(['\n', '\r']).map(readable).filter(|line| !line.is_empty()) {
            last.push_back(line.clone());
            heard(Progress::Line(line))?;
        }
    }
    if let Some(status) = status {
        let id = readable(&id.unwrap_or_default());
        let now = readable(&status);
        let (current_bytes, total_bytes) =
            progress_detail.map_or((None, None), |detail| (detail.current, detail.total));
        if current_bytes.is_none() {
            last.push_back(format!("{id} {now}").trim().to_owned());
        }
        heard(Progress::Part { id, doing: now, current_bytes, total_bytes })?;
    }
    if let Some(id) = aux.and_then(|aux| aux.id) {
        heard(Progress::Made(id))?;
    }
    last.drain(..last.len().saturating_sub(LAST_LINES));
    match error {
        Some(said) => Err(ApiError::Failed { said: readable(&said), last_lines: last.drain(..).collect() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
