//! Whether a daemon works: it lives, and answers a question. A socket that exists says neither.

use super::keeper::Started;
use super::place::wait;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long a daemon may take until it answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one request may take.
const ANSWER: Duration = Duration::from_secs(30);
/// How much of a log an error shows.
const LOG_LINES: usize = 20;

/// Waits until a daemon answers.
pub(super) fn wait_for(daemon: &mut Started) -> Result<(), String> {
    let mut ended = None;
    let answered = wait(PATIENCE, || {
        ended = daemon.process.try_wait().ok().flatten();
        ended.is_some() || ask(&daemon.socket, "GET /_ping", &[]).is_ok_and(|answer| answer.status == 200)
    });
    match ended {
        Some(status) => Err(with_log(daemon, &format!("{} ended with {status}", daemon.name))),
        None if !answered => Err(with_log(daemon, &format!("{} does not answer", daemon.name))),
        None => Ok(()),
    }
}

/// What went wrong, and the last lines that the daemon wrote.
pub(super) fn with_log(daemon: &Started, what: &str) -> String {
    let log = fs::read(&daemon.log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<_> = log.lines().collect();
    let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
    format!("{what}; the last lines of its log:\n  {}", last.join("\n  "))
}

/// What a daemon answered.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) text: String,
}

/// Asks a daemon one thing. Our own client is what is under test, so this does not use it.
pub(super) fn ask(socket: &Path, what: &str, body: &[u8]) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    let length = body.len();
    // The old protocol: the answer ends with the connection.
    let head = format!(
        "{what} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/x-tar\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut text = Vec::new();
    stream.take(1024 * 1024).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Ok(Answer { status, text })
}
