//! A daemon for tests: says what it is told, however the bytes are cut, and keeps what it heard.

use super::Client;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

/// A daemon that answers as many requests as it was told to, most often one.
pub(crate) struct Daemon {
    directory: PathBuf,
    thread: JoinHandle<String>,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Daemon {
    /// Answers one request with these bytes and closes.
    pub(crate) fn saying(answer: impl Into<Vec<u8>>) -> (Self, Client) {
        let answer = answer.into();
        Self::doing(move |stream| {
            // A client that has heard enough closes; that is its right.
            let _ = stream.write_all(&answer);
        })
    }

    /// Does this after the head of one request came.
    pub(crate) fn doing(act: impl FnOnce(&mut UnixStream) + Send + 'static) -> (Self, Client) {
        Self::doing_in_turn(std::iter::once(act))
    }

    /// Answers as many requests as there are answers, each with the next one.
    pub(crate) fn saying_in_turn(answers: Vec<String>) -> (Self, Client) {
        Self::doing_in_turn(answers.into_iter().map(|answer| {
            move |stream: &mut UnixStream| {
                let _ = stream.write_all(answer.as_bytes());
            }
        }))
    }

    fn doing_in_turn<A: FnOnce(&mut UnixStream)>(acts: impl Iterator<Item = A> + Send + 'static) -> (Self, Client) {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("polder-api-{}-{number}", std::process::id()));
        std::fs::create_dir(&directory).expect("a directory");
        let socket = directory.join("d.sock");
        let listener = UnixListener::bind(&socket).expect("a listener");
        let thread = std::thread::spawn(move || {
            let mut heard = Vec::new();
            for act in acts {
                let (mut stream, _) = listener.accept().expect("a client");
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
                    head.push(byte[0]);
                }
                act(&mut stream);
                heard.append(&mut head);
            }
            String::from_utf8_lossy(&heard).into_owned()
        });
        let caller = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&directory).expect("the directory"));
        (Self { directory, thread }, Client::new(socket, caller))
    }

    /// The head of the request, or those of all.
    pub(crate) fn heard(self) -> String {
        let heard = self.thread.join().expect("the daemon");
        std::fs::remove_dir_all(&self.directory).expect("removed");
        heard
    }
}

/// An answer with a JSON body.
pub(crate) fn json(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
