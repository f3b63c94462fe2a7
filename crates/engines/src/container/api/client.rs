//! One request, from the request line to the end of the answer.

use super::body::Body;
use super::connection::Connection;
use super::deadline::Deadline;
use super::error::{ApiError, readable};
use super::head::{Framing, HEAD_BYTES_MAX, Head, HeadError};
use super::progress::{self, Hearing};
use super::stream::Attached;
use super::system::ApiVersion;
use super::target::Target;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest answer that is taken as a whole.
const ANSWER_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// The longest error message that is read.
const MESSAGE_BYTES_MAX: u64 = 64 * 1024;
/// How much of a stream is sent at once.
const SENT_BYTES: usize = 64 * 1024;
/// How often a question is asked at which a daemon fails.
const TRIES_MAX: u32 = 4;
/// How long the first pause in between is.
const PAUSE: Duration = Duration::from_millis(20);

/// A daemon at a socket. Holds no connection: every request makes its own, so that none can spoil the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    socket: PathBuf,
    /// Who asks: a listener must be this user or root.
    caller: u32,
    version: Option<ApiVersion>,
    dialect: Dialect,
}

/// Where two daemons mean different things by the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Docker,
    Podman,
}

/// The kinds of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    /// The head of an answer without its body.
    Head,
    Post,
    Delete,
}

/// What a request carries.
pub(super) enum Sent<'a> {
    Nothing,
    Json(Vec<u8>),
    /// An archive of unknown length.
    Archive(&'a mut dyn Read),
    /// Nothing, and the wish for a stream in both directions.
    Upgrade(Vec<u8>),
}

/// A request that the daemon accepted.
pub(super) struct Answer {
    pub(super) head: Head,
    pub(super) body: Body,
}

impl Client {
    /// The daemon at this socket, for a caller with this uid; asks nothing yet. Requests carry no version until
    /// [`Client::speak`] says one.
    pub(crate) fn new(socket: PathBuf, caller: u32) -> Self {
        Self { socket, caller, version: None, dialect: Dialect::Docker }
    }

    /// The same daemon, spoken to in this version of its interface.
    pub(crate) fn speak(self, version: ApiVersion) -> Self {
        Self { version: Some(version), ..self }
    }

    /// The same daemon, understood as one that speaks this dialect.
    pub(crate) fn understood_as(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// How the daemon understands words that two of them differ on.
    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Where the daemon listens.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// The version in which it is spoken to.
    pub(crate) fn version(&self) -> Option<ApiVersion> {
        self.version
    }

    /// Asks a question. One at which the daemon itself fails is asked again: Podman trips over an image that somebody else
    /// removes at that moment, and a question changes nothing.
    pub(super) fn ask<T: DeserializeOwned>(&self, target: &Target, deadline: Deadline) -> Result<T, ApiError> {
        let mut tries = 1;
        loop {
            match self.value(Method::Get, target, Sent::Nothing, deadline) {
                Err(ApiError::Refused { status: 500, .. }) if tries < TRIES_MAX => {
                    std::thread::sleep(PAUSE * tries);
                    tries += 1;
                }
                answer => return answer,
            }
        }
    }

    /// Asks for something to be done, and reads the answer as one value.
    pub(super) fn value<T: DeserializeOwned>(
        &self,
        method: Method,
        target: &Target,
        sent: Sent<'_>,
        deadline: Deadline,
    ) -> Result<T, ApiError> {
        let doing = doing(method, target);
        let answer = self.send(method, target, sent, deadline)?;
        let bytes = whole(answer.body, &doing, ANSWER_BYTES_MAX)?;
        serde_json::from_slice(&bytes).map_err(|_| ApiError::Garbled { doing, what: "not the JSON that was asked for" })
    }

    /// Asks for something to be done, and reads nothing but whether it was.
    pub(super) fn done(
        &self,
        method: Method,
        target: &Target,
        sent: Sent<'_>,
        deadline: Deadline,
    ) -> Result<(), ApiError> {
        let doing = doing(method, target);
        let answer = self.send(method, target, sent, deadline)?;
        // Read to the end: the daemon has done what was asked only then.
        whole(answer.body, &doing, ANSWER_BYTES_MAX).map(drop)
    }

    /// Asks for a stream in both directions.
    pub(super) fn attach(&self, target: &Target, body: Vec<u8>, deadline: Deadline) -> Result<Attached, ApiError> {
        let doing = doing(Method::Post, target);
        let mut connection = self.request(Method::Post, target, Sent::Upgrade(body), deadline)?;
        let head = Head::read(&mut connection).map_err(|error| heading(&doing, error))?;
        // Daemons that do not upgrade answer 200 and let the stream begin all the same.
        if head.status == 101 || (head.status == 200 && head.framing == Framing::ToTheEnd) {
            let (stream, ahead) = connection.into_parts();
            return Attached::new(stream, ahead).map_err(|error| ApiError::talking(&doing, error));
        }
        Err(refused(Answer { body: Body::new(connection, head.framing, MESSAGE_BYTES_MAX), head }, &doing))
    }

    /// Sends a request and reads the head of the answer; one that is no success is an error with the daemon's words.
    pub(super) fn send(
        &self,
        method: Method,
        target: &Target,
        sent: Sent<'_>,
        deadline: Deadline,
    ) -> Result<Answer, ApiError> {
        self.send_heard(method, target, sent, deadline, &mut |_| ControlFlow::Continue(()))
    }

    /// The same, by a caller that may not want to wait for the answer.
    pub(super) fn send_heard(
        &self,
        method: Method,
        target: &Target,
        sent: Sent<'_>,
        deadline: Deadline,
        hearing: &mut Hearing<'_>,
    ) -> Result<Answer, ApiError> {
        let doing = doing(method, target);
        let mut connection = self.request(method, target, sent, deadline)?;
        progress::wait(&doing, &mut |patience| connection.is_ready(patience), hearing)?;
        let head = Head::read(&mut connection).map_err(|error| heading(&doing, error))?;
        let success = (200..300).contains(&head.status) || head.status == 304;
        let limit = if success { u64::MAX } else { MESSAGE_BYTES_MAX };
        // Its length is that of the body which does not come.
        let framing = if method == Method::Head { Framing::Empty } else { head.framing };
        let answer = Answer { body: Body::new(connection, framing, limit), head };
        if success { Ok(answer) } else { Err(refused(answer, &doing)) }
    }

    fn request(
        &self,
        method: Method,
        target: &Target,
        sent: Sent<'_>,
        deadline: Deadline,
    ) -> Result<Connection, ApiError> {
        let doing = doing(method, target);
        let mut connection = Connection::open(&self.socket, self.caller, deadline)?;
        let line = target.line(self.version);
        let method = method.name();
        let mut head = format!("{method} {line} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: polder\r\n");
        head.push_str(&match &sent {
            Sent::Nothing => "Connection: close\r\nContent-Length: 0\r\n\r\n".to_owned(),
            Sent::Json(body) => {
                format!("Connection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len())
            }
            Sent::Archive(_) => {
                "Connection: close\r\nContent-Type: application/x-tar\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned()
            }
            Sent::Upgrade(body) => format!(
                "Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            ),
        });
        let mut bytes = head.into_bytes();
        match sent {
            Sent::Nothing => say(&mut connection, &bytes, &doing).map(drop)?,
            Sent::Json(body) | Sent::Upgrade(body) => {
                bytes.extend_from_slice(&body);
                say(&mut connection, &bytes, &doing).map(drop)?;
            }
            Sent::Archive(source) => {
                if say(&mut connection, &bytes, &doing)? == Ear::Listens {
                    archive(&mut connection, source, &doing)?;
                }
            }
        }
        Ok(connection)
    }
}

/// Whether a daemon still wants to hear more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ear {
    Listens,
    /// It closed its side; what it has to say about it is its answer.
    HeardEnough,
}

fn say(connection: &mut Connection, bytes: &[u8], doing: &str) -> Result<Ear, ApiError> {
    match connection.write_all(bytes) {
        Ok(()) => Ok(Ear::Listens),
        Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
            Ok(Ear::HeardEnough)
        }
        Err(error) => Err(ApiError::talking(doing, error)),
    }
}

/// Sends a stream in chunks.
fn archive(connection: &mut Connection, source: &mut dyn Read, doing: &str) -> Result<(), ApiError> {
    let mut buffer = vec![0; SENT_BYTES];
    loop {
        let unreadable = |source| ApiError::Source { doing: doing.to_owned(), source };
        let count = source.read(&mut buffer).map_err(unreadable)?;
        let mut chunk = format!("{count:x}\r\n").into_bytes();
        chunk.extend_from_slice(&buffer[..count]);
        chunk.extend_from_slice(b"\r\n");
        if say(connection, &chunk, doing)? == Ear::HeardEnough || count == 0 {
            return Ok(());
        }
    }
}

/// A body, as bytes.
pub(super) fn whole(body: Body, doing: &str, limit_bytes: u64) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::new();
    body.take(limit_bytes + 1).read_to_end(&mut bytes).map_err(|error| reading(doing, error))?;
    if bytes.len() as u64 > limit_bytes {
        return Err(ApiError::TooLong { doing: doing.to_owned(), limit_bytes });
    }
    Ok(bytes)
}

/// An error on the way through a body.
pub(super) fn reading(doing: &str, error: io::Error) -> ApiError {
    match error.kind() {
        io::ErrorKind::FileTooLarge => ApiError::TooLong { doing: doing.to_owned(), limit_bytes: MESSAGE_BYTES_MAX },
        io::ErrorKind::InvalidData => ApiError::Garbled { doing: doing.to_owned(), what: "its body" },
        _ => ApiError::talking(doing, error),
    }
}

/// A value as a request carries it.
pub(super) fn json(value: &impl Serialize) -> Sent<'static> {
    // Only maps with keys that are no texts cannot be written, and nobody here has one.
    Sent::Json(serde_json::to_vec(value).expect("invariant: requests are made of texts, numbers, lists and maps"))
}

/// What is being done, for errors.
pub(super) fn doing(method: Method, target: &Target) -> String {
    format!("{} {}", method.name(), target.path())
}

fn refused(answer: Answer, doing: &str) -> ApiError {
    /// What daemons say when they refuse: one of these keys.
    #[derive(serde::Deserialize)]
    struct Message {
        message: Option<String>,
        cause: Option<String>,
    }
    let status = answer.head.status;
    let bytes = match whole(answer.body, doing, MESSAGE_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) => return error,
    };
    let message: Option<Message> = serde_json::from_slice(&bytes).ok();
    let said = message.and_then(|message| message.message.or(message.cause));
    let said = said.unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
    let said = readable(&said);
    let said = if said.is_empty() { format!("status {status} without a word: {doing}") } else { said };
    ApiError::Refused { status, said }
}

fn heading(doing: &str, error: HeadError) -> ApiError {
    match error {
        HeadError::Io(error) => ApiError::talking(doing, error),
        HeadError::Garbled(what) => ApiError::Garbled { doing: doing.to_owned(), what },
        HeadError::TooLong => ApiError::TooLong { doing: doing.to_owned(), limit_bytes: HEAD_BYTES_MAX },
    }
}

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

#[cfg(test)]
mod tests;
