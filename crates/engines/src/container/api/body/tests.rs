use crate::container::api::testing::Daemon;
use crate::container::api::{ApiError, Deadline};
use std::time::Duration;

fn ping(answer: &str) -> Result<(), ApiError> {
    let (daemon, client) = Daemon::saying(answer);
    let result = client.ping(Deadline::after(Duration::from_secs(20))).map(drop);
    daemon.heard();
    result
}

#[test]
fn chunks_end_where_they_say() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for body in [
        "0\r\n\r\n",
        "2\r\nOK\r\n0\r\n\r\n",
        "1;x=y\r\nO\r\n1\r\nK\r\n0\r\nTrailer: x\r\n\r\n",
        "A\r\n0123456789\r\n0\r\n\r\n",
    ] {
        ping(&format!("{head}{body}")).expect(body);
    }
    for body in [
        "",
        "2\r\nOK",
        "2\r\nOKx\r\n0\r\n\r\n",
        "2\r\nO\r\n0\r\n\r\n",
        "-1\r\n\r\n",
        "0x2\r\nOK\r\n0\r\n\r\n",
        "ffffffffffffffff\r\nOK",
        "0\r\n",
        "2\r\nOK\r\n",
    ] {
        assert!(ping(&format!("{head}{body}")).is_err(), "{body:?}");
    }
}

#[test]
fn a_body_that_is_cut_off_is_an_error() {
    ping("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK").expect("whole");
    let error = ping("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nOK").expect_err("cut off");
    assert!(matches!(error, ApiError::Broken { .. }), "{error:?}");
    // What follows the body is not read.
    ping("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOKmore").expect("whole");
}

#[test]
fn a_body_longer_than_agreed_is_an_error() {
    let long = "x".repeat(5_000);
    let error = ping(&format!("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{long}")).expect_err("long");
    assert!(matches!(error, ApiError::TooLong { .. }), "{error:?}");
    let error = ping(&format!("HTTP/1.1 200 OK\r\n\r\n{long}")).expect_err("long");
    assert!(matches!(error, ApiError::TooLong { .. }), "{error:?}");
}
