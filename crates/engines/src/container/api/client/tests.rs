use super::super::testing::{Daemon, json as answer};
use super::super::{ApiVersion, ImageName, ObjectName};
use super::*;
use std::time::Duration;

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

fn id() -> ObjectName {
    "abc".parse().expect("a name")
}

#[test]
fn a_request_is_exactly_this() {
    let (daemon, client) = Daemon::saying("HTTP/1.1 204 No Content\r\n\r\n");
    client.speak(ApiVersion { major: 1, minor: 41 }).kill_container(&id(), 9, soon()).expect("killed");
    assert_eq!(
        daemon.heard(),
        "POST /v1.41/containers/abc/kill?signal=9 HTTP/1.1\r\nHost: localhost\r\nUser-Agent: polder\r\n\
         Connection: close\r\nContent-Length: 0\r\n\r\n"
    );
}

#[test]
fn a_daemons_own_words_come_back() {
    let (daemon, client) = Daemon::saying(answer("404 Not Found", r#"{"message":"No such image: x\u001b[31m"}"#));
    let name: ImageName = "x".parse().expect("a name");
    let error = client.inspect_image(&name, soon()).expect_err("refused");
    assert!(error.is_absent());
    assert_eq!(error.to_string(), "No such image: x\u{fffd}[31m");
    daemon.heard();
}

#[test]
fn a_question_is_asked_again_where_the_daemon_fails_and_nothing_else_is() {
    let failed = || answer("500 Internal Server Error", r#"{"message":"nil pointer dereference"}"#);
    let name: ImageName = "x".parse().expect("a name");
    let (daemon, client) = Daemon::saying_in_turn(vec![failed(), failed(), answer("200 OK", r#"{"Id":"sha256:1"}"#)]);
    assert_eq!(client.inspect_image(&name, soon()).expect("an image").id, "sha256:1");
    assert_eq!(daemon.heard().matches("GET /images/x").count(), 3);
    let (daemon, client) = Daemon::saying_in_turn(vec![failed(); 4]);
    let error = client.inspect_image(&name, soon()).expect_err("it fails for good");
    assert_eq!(error.to_string(), "nil pointer dereference");
    daemon.heard();
    // What changes something is done once.
    let (daemon, client) = Daemon::saying_in_turn(vec![failed()]);
    client.create_container(&id(), &serde_json::json!({}), soon()).expect_err("failed");
    daemon.heard();
}

#[test]
fn an_answer_that_is_not_the_value_is_an_error() {
    for body in ["", "{", "[]", r#"{"Id":5}"#, r#"{"Id":"../x"}"#] {
        let (daemon, client) = Daemon::saying(answer("201 Created", body));
        let error = client.create_container(&id(), &serde_json::json!({}), soon()).expect_err(body);
        assert!(matches!(error, ApiError::Garbled { .. }), "{body:?}: {error:?}");
        daemon.heard();
    }
}

#[test]
fn a_daemon_that_keeps_talking_does_not_put_the_deadline_off() {
    let (daemon, client) = Daemon::doing(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        // Until the client closes.
        while stream.write_all(b"1\r\n \r\n").is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let deadline = Deadline::after(Duration::from_millis(300));
    let error = client.inspect_container(&id(), deadline).expect_err("late");
    assert!(matches!(error, ApiError::Late { .. }), "{error:?}");
    daemon.heard();
}

#[test]
fn a_daemon_that_says_nothing_is_late_and_an_endless_head_is_too_long() {
    let (daemon, client) = Daemon::doing(|stream| {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    });
    let error = client.ping(Deadline::after(Duration::from_millis(200))).expect_err("late");
    assert!(matches!(error, ApiError::Late { .. }), "{error:?}");
    daemon.heard();

    let (daemon, client) = Daemon::doing(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nX: ");
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    });
    let error = client.ping(soon()).expect_err("too long");
    assert!(matches!(error, ApiError::TooLong { .. }), "{error:?}");
    daemon.heard();
}

#[test]
fn an_archive_is_sent_in_chunks_and_an_early_refusal_is_heard() {
    // Refuses at once and closes while the client still sends.
    let (daemon, client) = Daemon::saying(answer("500 Internal Server Error", r#"{"message":"no space"}"#));
    let options = super::super::BuildOptions {
        tag: "polder/x:y".parse().expect("a name"),
        recipe: "Dockerfile".to_owned(),
        network: super::super::BuildNetwork::None,
        bases: super::super::Bases::Missing,
        labels: std::collections::BTreeMap::new(),
    };
    let mut long = io::repeat(7).take(50 * 1024 * 1024);
    let error =
        client.build_image(&options, &mut long, soon(), &mut |_| ControlFlow::Continue(())).expect_err("refused");
    // What the daemon managed to say is heard; where the kernel threw it away with the connection, that is said.
    assert!(matches!(&error, ApiError::Refused { status: 500, .. } | ApiError::Broken { .. }), "{error:?}");
    let heard = daemon.heard();
    assert!(heard.contains("Transfer-Encoding: chunked"), "{heard}");
}

#[test]
fn who_is_not_there_is_told_apart() {
    let directory = std::env::temp_dir().join(format!("polder-api-none-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let socket = directory.join("d.sock");
    let client = Client::new(socket.clone(), 0);
    let error = client.ping(soon()).expect_err("no socket");
    assert!(matches!(error, ApiError::NoSocket { .. }), "{error:?}");
    // A socket that a daemon left behind.
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("a listener"));
    let error = client.ping(soon()).expect_err("nobody");
    assert!(matches!(error, ApiError::NobodyAnswers { .. }), "{error:?}");
    std::fs::remove_dir_all(&directory).expect("removed");
}

#[test]
fn a_listener_of_somebody_else_is_not_spoken_to() {
    let (daemon, client) = Daemon::saying("");
    let uid = client.caller;
    let other = Client { caller: uid.wrapping_add(1), ..client.clone() };
    let answer = other.ping(soon());
    if uid == 0 {
        // Root is whom everybody has to trust.
        assert!(matches!(answer, Err(ApiError::Broken { .. })), "{answer:?}");
    } else {
        assert!(matches!(answer, Err(ApiError::Stranger { .. })), "{answer:?}");
        drop(client.ping(soon()));
    }
    daemon.heard();
}
