use super::*;
use std::os::unix::net::UnixListener;

fn place(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("polder-local-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn a_listener_is_reached_and_its_user_is_known() {
    let path = place("reached");
    let listener = UnixListener::bind(&path).expect("a listener");
    let stream = connect_local(&path, Duration::from_secs(5)).expect("a connection");
    let own = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&path).expect("the socket"));
    assert_eq!(peer_uid(stream.as_fd()).expect("a peer"), own);
    drop(listener);
    std::fs::remove_file(&path).expect("removed");
}

#[test]
fn a_stopped_daemon_with_a_full_queue_is_not_waited_for() {
    let path = place("full");
    let listener = UnixListener::bind(&path).expect("a listener");
    // Nobody accepts, so the queue fills; each connection stays open.
    let mut waiting = Vec::new();
    let refused = loop {
        match connect_local(&path, Duration::from_millis(20)) {
            Ok(stream) => waiting.push(stream),
            Err(error) => break error,
        }
        assert!(waiting.len() < 20_000, "the queue never fills");
    };
    assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
    drop((listener, waiting));
    std::fs::remove_file(&path).expect("removed");
}

#[test]
fn a_path_that_no_socket_can_have_is_an_error() {
    let long = Path::new("/tmp").join("x".repeat(200));
    let error = connect_local(&long, Duration::from_secs(1)).expect_err("too long");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    let error = connect_local(Path::new("/nonexistent/x.sock"), Duration::from_secs(1)).expect_err("not there");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}
