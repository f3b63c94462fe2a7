use crate::container::api::testing::Daemon;
use crate::container::api::{ApiError, Deadline, Progress};
use expect_test::expect;
use std::ops::ControlFlow;
use std::time::Duration;

fn pull(lines: &str) -> (Result<(), ApiError>, Vec<Progress>) {
    let (daemon, client) = Daemon::saying(format!("HTTP/1.1 200 OK\r\n\r\n{lines}"));
    let mut heard = Vec::new();
    let name = "a/b:c".parse().expect("a name");
    let result = client.pull_image(&name, Deadline::after(Duration::from_secs(20)), &mut |progress| {
        heard.extend(progress);
        ControlFlow::Continue(())
    });
    daemon.heard();
    (result, heard)
}

#[test]
fn what_a_daemon_says_is_handed_on() {
    let (result, heard) = pull(concat!(
        "{\"status\":\"Pulling from a/b\",\"id\":\"c\"}\r\n",
        "{\"status\":\"Downloading\",\"progressDetail\":{\"current\":3,\"total\":10},\"progress\":\"[=> ]\",\"id\":\"x\"}\n",
        "{\"stream\":\"Step 1/2 : FROM x\\n\"}\n\n{\"stream\":\"\\n\"}\n",
        "{\"aux\":{\"ID\":\"sha256:ab\"}}",
    ));
    result.expect("no error");
    expect![[r#"
        [
            Part {
                id: "c",
                doing: "Pulling from a/b",
                current_bytes: None,
                total_bytes: None,
            },
            Part {
                id: "x",
                doing: "Downloading",
                current_bytes: Some(
                    3,
                ),
                total_bytes: Some(
                    10,
                ),
            },
            Line(
                "Step 1/2 : FROM x",
            ),
            Made(
                "sha256:ab",
            ),
        ]
    "#]]
    .assert_debug_eq(&heard);
}

#[test]
fn an_error_in_the_middle_keeps_the_last_lines() {
    let mut lines: String = (0..50).map(|number| format!("{{\"stream\":\"line {number}\\n\"}}\n")).collect();
    lines.push_str(
        "{\"errorDetail\":{\"code\":1,\"message\":\"returned 1\"},\"error\":\"returned 1\"}\n{\"stream\":\"more\"}\n",
    );
    let Err(ApiError::Failed { said, last_lines }) = pull(&lines).0 else { panic!("no failure") };
    assert_eq!(said, "returned 1");
    assert_eq!((last_lines.len(), last_lines.first().map(String::as_str)), (20, Some("line 30")));
}

#[test]
fn what_is_no_progress_is_an_error() {
    for lines in ["not json\n", "[1]\n", "{\"stream\":5}\n"] {
        let (result, _) = pull(lines);
        assert!(matches!(result, Err(ApiError::Garbled { .. })), "{lines:?} {result:?}");
    }
    let (result, _) = pull(&"x".repeat(2 * 1024 * 1024));
    assert!(matches!(result, Err(ApiError::TooLong { .. })), "{result:?}");
}

#[test]
fn a_caller_that_does_not_wait_any_longer_is_free() {
    let (daemon, client) = Daemon::saying("HTTP/1.1 200 OK\r\n\r\n{\"status\":\"a\"}\n{\"status\":\"b\"}\n".to_owned());
    let mut heard = Vec::new();
    let name = "a/b:c".parse().expect("a name");
    let result = client.pull_image(&name, Deadline::after(Duration::from_secs(20)), &mut |progress| {
        heard.extend(progress);
        if heard.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    daemon.heard();
    assert!(matches!(result, Err(ApiError::GivenUp { .. })), "{result:?}");
    assert_eq!(heard.len(), 1);
}
