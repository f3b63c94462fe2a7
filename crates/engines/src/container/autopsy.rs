//! Why a container ended before a run was let in.
//!
//! Ours remove themselves when they end, and keep no log: nothing of a run is on anybody's disk. So what ended is made once
//! more, to be looked at when it has ended again: nothing of a run was in it.

use super::api::{Client, ContainerState, Deadline, WaitFor};
use super::kind::Kind;
use super::life::create;
use crate::shimmed::setup;
use polder_engine::LaunchError;
use serde_json::{Value, json};
use std::io;
use std::time::Duration;

/// How long the second one may live.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many of its last lines are shown.
const LINES: u32 = 10;
/// A process that was killed.
const KILLED: i64 = 128 + 9;

/// Makes the container of a request that ended once more, and says why it ended.
pub(super) fn autopsy(client: &Client, kind: Kind, request: &Value) -> LaunchError {
    match look(client, kind, request) {
        Some((state, lines)) => told(&state, &lines),
        None => told_nothing(),
    }
}

/// How it ended, and what it said; nothing where it does not end, or cannot be asked.
fn look(client: &Client, kind: Kind, request: &Value) -> Option<(ContainerState, Vec<String>)> {
    let mut request = request.clone();
    request["HostConfig"]["AutoRemove"] = json!(false);
    request["HostConfig"]["LogConfig"] = match kind {
        Kind::Docker => json!({ "Type": "json-file", "Config": {} }),
        Kind::Podman => json!({ "Type": "k8s-file", "Config": {} }),
    };
    let id = create(client, kind, &request).ok()?;
    let found = client.start_container(&id, Deadline::quick()).and_then(|()| {
        client.wait_container(&id, WaitFor::NotRunning, Deadline::after(PATIENCE))?;
        let state = client.inspect_container(&id, Deadline::quick())?.state;
        let logs = client.container_logs(&id, LINES, Deadline::quick())?;
        Ok((state, logs))
    });
    // It has the labels of the other one: what stays the next start removes.
    let _ = client.remove_container(&id, Deadline::quick());
    let (state, logs) = found.ok()?;
    let text = String::from_utf8_lossy(&[logs.stdout, logs.stderr].concat()).into_owned();
    Some((state, text.lines().map(super::api::readable).filter(|line| !line.is_empty()).collect()))
}

fn told(state: &ContainerState, lines: &[String]) -> LaunchError {
    let code = state.exit_code;
    let why = match state.error.as_str() {
        "" if state.oom_killed => "its memory ran out".to_owned(),
        "" => format!("code {code}"),
        error => error.to_owned(),
    };
    let shown: String = lines.iter().map(|line| format!("\n  | {line}")).collect();
    let remedy = if state.oom_killed || code == KILLED {
        "give it more with `limits.memory`, and see who kills containers on this machine"
    } else {
        "the daemon's log says more; it must share this machine's `/tmp`, and let its containers use sockets there"
    };
    setup(
        io::Error::other(format!("the container ended before it let the run in: {why}{shown}")),
        Some(remedy.to_owned()),
    )
}

fn told_nothing() -> LaunchError {
    let text = "the container ended before it let the run in, and a second one did not";
    setup(io::Error::other(text), Some("run again; if it stays so, the daemon's log says who ended it".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(exit_code: i64, oom_killed: bool, error: &str) -> ContainerState {
        let wire = json!({
            "Status": "exited", "ExitCode": exit_code, "OOMKilled": oom_killed, "Error": error,
        });
        serde_json::from_value(wire).expect("a state")
    }

    #[test]
    fn the_end_is_told_with_its_last_lines_and_a_remedy() {
        let lines = ["polder: one".to_owned(), "two".to_owned()];
        let error = told(&state(125, false, ""), &lines);
        assert_eq!(
            LaunchError { remedy: None, failure: error.failure }.to_string(),
            "the container ended before it let the run in: code 125\n  | polder: one\n  | two"
        );
        assert!(error.remedy.is_some_and(|remedy| remedy.contains("/tmp")));
        let error = told(&state(137, true, ""), &[]);
        assert!(error.to_string().contains("its memory ran out"), "{error}");
        assert!(error.remedy.is_some_and(|remedy| remedy.contains("limits.memory")));
        assert!(told(&state(127, false, "exec: not found"), &[]).to_string().contains("exec: not found"));
    }
}
