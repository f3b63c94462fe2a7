use super::{Drain, Ear};
use crate::container::api::AttachedInput;
use polder_sys::inmate::{Tag, Window};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

/// Something that carries a stream, where what it writes comes out, and who hears what was taken.
fn drain() -> (Drain, UnixStream, UnixStream) {
    let (to, reader) = UnixStream::pair().expect("a pair");
    let (ear, heard) = UnixStream::pair().expect("a pair");
    let ear = Ear(Arc::new(Mutex::new(AttachedInput::on(ear))));
    (Drain::new(to.into(), Tag::Output, &ear), reader, heard)
}

#[test]
fn what_our_program_sends_ahead_is_taken_and_arrives() {
    let (drain, mut reader, _heard) = drain();
    for _ in 0..Window::BYTES / Window::CHUNK_BYTES {
        assert!(drain.take(vec![7; Window::CHUNK_BYTES]));
    }
    let mut got = vec![0; Window::BYTES];
    reader.read_exact(&mut got).expect("it arrives");
    assert!(got.iter().all(|byte| *byte == 7));
    drain.end();
}

#[test]
fn whoever_sends_more_than_that_while_nobody_reads_is_not_heard_any_longer() {
    let (drain, _reader, _heard) = drain();
    // What the connection itself holds comes on top.
    let frames = 64 * Window::BYTES / Window::CHUNK_BYTES;
    assert!((0..frames).any(|_| !drain.take(vec![7; Window::CHUNK_BYTES])), "there is no end");
}
