use super::*;
use std::io;
use std::sync::Arc;

#[test]
fn a_frame_comes_back_as_it_went() {
    let mut wire = Vec::new();
    send(&mut wire, Tag::Output, b"bytes").expect("sent");
    send(&mut wire, Tag::Signal, &15i32.to_le_bytes()).expect("sent");
    send(&mut wire, Tag::Took, &Window::told(Tag::Error, 70_000)).expect("sent");
    let mut from = wire.as_slice();
    let mut next = || receive(&mut from).expect("understood");
    assert_eq!(next(), Some(Frame { tag: Tag::Output, bytes: b"bytes".to_vec() }));
    assert_eq!(next().and_then(|frame| frame.number()), Some(15));
    assert_eq!(next().and_then(|frame| frame.took()), Some((Tag::Error, 70_000)));
    assert_eq!(next(), None);
}

#[test]
fn what_nobody_understands_is_an_error_and_costs_nothing() {
    let kind = |bytes: &[u8]| receive(&mut &*bytes).expect_err("refused").kind();
    assert_eq!(kind(&[99, 0, 0, 0, 0]), io::ErrorKind::InvalidData);
    assert_eq!(kind(&[Tag::Output as u8, 255, 255, 255, 255]), io::ErrorKind::InvalidData, "a length of 4 GiB");
    assert_eq!(kind(&[Tag::Output as u8, 10, 0, 0, 0, 1]), io::ErrorKind::UnexpectedEof);
    assert_eq!(kind(&[Tag::Output as u8, 1]), io::ErrorKind::UnexpectedEof);
    assert!(Seen::from_bytes(b"{}").is_err() && Done::from_bytes(b"x").is_err());
}

#[test]
fn a_window_holds_back_until_something_is_taken() {
    let window = Arc::new(Window::new());
    let mut sent = 0;
    while let Some(room) = window.wait().filter(|_| sent < 8 * Window::CHUNK_BYTES) {
        window.sent(room);
        sent += room;
        if sent == 8 * Window::CHUNK_BYTES {
            let other = Arc::clone(&window);
            std::thread::spawn(move || other.taken(10));
        }
    }
    assert_eq!(window.wait(), Some(10), "what was taken, and no more");
    window.close();
    assert_eq!(window.wait(), None);
}
