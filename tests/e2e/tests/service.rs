//! `polder run --service`: a real server that speaks JSON-RPC on its standard streams, as MCP servers do.
#![forbid(unsafe_code)]

use polder_e2e::{Held, Place, hold, until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Reads one request a line and answers it. What it is told to remember it keeps in its directory.
const SERVER: &str = r#"
import json, os, sys
state = os.environ['STATE_DIRECTORY']
print('begun', file=open(f'{state}/lives', 'a'))
def answer(method, params):
    if method == 'initialize': return {'protocolVersion': '2025-06-18', 'serverInfo': {'name': 'test', 'pid': os.getpid()}}
    if method == 'remember': open(f'{state}/kept', 'w').write(params['text']); return {}
    if method == 'recall': return {'text': open(f'{state}/kept').read() if os.path.exists(f'{state}/kept') else None}
    if method == 'read': return {'names': os.listdir(params['path']) if os.path.isdir(params['path']) else None}
    if method == 'state': return {'path': state}
    if method == 'crash': os._exit(params['code'])
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({'jsonrpc': '2.0', 'id': request['id'], 'result': answer(request['method'], request.get('params', {}))}), flush=True)
"#;

struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    id: u64,
}

impl Client {
    fn start(place: &Place, flags: &[&str]) -> Self {
        place.write("work/server.py", SERVER);
        let mut arguments = vec!["run"];
        arguments.extend(flags);
        arguments.extend(["--", "python3", "server.py"]);
        let mut command = place.polder(&arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder");
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().expect("a pipe")));
        Self { child, to, from, id: 0 }
    }

    fn send(&mut self, method: &str, params: &Value) {
        self.id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        writeln!(self.to.as_mut().expect("an open stream"), "{request}").expect("somebody reads");
    }

    fn asks(&mut self, method: &str, params: &Value) -> Value {
        self.send(method, params);
        let mut line = String::new();
        self.from.read_line(&mut line).expect("an answer");
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(answer["id"], self.id);
        answer["result"].clone()
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status();
        assert!(status.expect("kill").success());
    }

    /// Closes the stream and waits for the end.
    fn end(mut self) -> (i32, String) {
        self.to = None;
        self.ended()
    }

    /// Waits for the end with the stream open: a service that a signal ends must not end by its input first.
    fn ended(self) -> (i32, String) {
        let Self { child, to: _open, .. } = self;
        let output = child.wait_with_output().expect("an end");
        let code = output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0));
        (code, String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// How often the server began.
fn lives(place: &Place) -> usize {
    place.read("home/.local/state/polder/services/memory/lives").lines().count()
}

#[test]
fn a_service_answers_while_its_input_is_open_and_ends_with_it() {
    let place = Place::new();
    let mut client = Client::start(&place, &["--service", "memory"]);
    // Each answer is read before the next request is written: whatever held something back would hang here.
    for _ in 0..3 {
        assert_eq!(client.asks("initialize", &json!({}))["serverInfo"]["name"], "test");
    }
    assert_eq!(client.asks("state", &json!({}))["path"], "/var/lib/service");
    let (code, err) = client.end();
    assert_eq!((code, err.as_str()), (0, ""));
}

#[test]
fn a_service_keeps_a_directory_of_its_own_that_others_cannot_reach() {
    let place = Place::new();
    let mut first = Client::start(&place, &["--service", "memory"]);
    assert_eq!(first.asks("recall", &json!({}))["text"], Value::Null);
    first.asks("remember", &json!({"text": "the sluice is open"}));
    first.end();
    let mut again = Client::start(&place, &["--service", "memory", "--read-only"]);
    assert_eq!(again.asks("recall", &json!({}))["text"], "the sluice is open");
    again.end();
    let mut other = Client::start(&place, &["--service", "other"]);
    assert_eq!(other.asks("recall", &json!({}))["text"], Value::Null);
    let services = place.home().join(".local/state/polder/services");
    let read = json!({"path": services.join("memory")});
    assert_eq!(other.asks("read", &read)["names"], Value::Null);
    other.end();
    let mode = |path: &std::path::Path| path.metadata().expect("a directory").permissions().mode() & 0o777;
    assert_eq!((mode(&services), mode(&services.join("memory"))), (0o700, 0o700));
    // The control: outside the same server reads it.
    let mut outside = place.command("python3");
    let said =
        outside.args(["-c", &format!("import os; print(sorted(os.listdir({:?})))", services.join("memory"))]).output();
    assert_eq!(String::from_utf8_lossy(&said.expect("python3").stdout), "['kept', 'lives']\n");
}

#[test]
fn the_directory_of_another_service_cannot_be_had_by_asking_or_by_the_tree_around_it() {
    let place = Place::new();
    let mut first = Client::start(&place, &["--service", "memory"]);
    first.asks("remember", &json!({"text": "x"}));
    first.end();
    let kept = place.home().join(".local/state/polder/services/memory").display().to_string();
    let said = place.says(&["run", "--bind", &format!("{kept}:/mnt/other:rw"), "--", "ls", "/mnt/other"]);
    assert!(said.code == 125 && said.err.contains("is polder's own"), "{said:?}");
    // By a link that leads there, too.
    std::os::unix::fs::symlink(&kept, place.dir().join("link")).expect("a link");
    let link = place.dir().join("link").display().to_string();
    let said = place.says(&["run", "--bind", &format!("{link}:/mnt/other"), "--", "ls", "/mnt/other"]);
    assert!(said.code == 125 && said.err.contains("is polder's own"), "{said:?}");
    let around = place.home().join(".local").display().to_string();
    let script = "cat state/polder/services/memory/kept; echo y > state/polder/services/memory/kept; true";
    let said = place.says(&["run", "-C", &around, "--service", "other", "--", "sh", "-c", script]);
    assert!(said.code == 0 && said.out.is_empty(), "{said:?}");
    assert_eq!(place.read("home/.local/state/polder/services/memory/kept"), "x");
    // The control: outside the same script reads and writes it.
    assert_eq!(place.sh(&format!("cd {around}; {script}")).out, "x");
    assert_eq!(place.read("home/.local/state/polder/services/memory/kept"), "y\n");
}

#[test]
fn a_service_that_crashes_starts_again_only_when_that_was_asked_for() {
    let place = Place::new();
    let mut client = Client::start(&place, &["--service", "memory", "--restart", "on-failure"]);
    client.asks("remember", &json!({"text": "before"}));
    client.send("crash", &json!({"code": 3}));
    // What the old life has read and not answered is lost with it, so the next request waits for the new one.
    until("the second life", || lives(&place) == 2);
    assert_eq!(client.asks("recall", &json!({}))["text"], "before");
    let (code, err) = client.end();
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("the service ended with code 3; it starts again in 500ms (1 of 5)"), "{err}");
    for flags in [&["--service", "memory"][..], &["--service", "memory", "--restart", "never"]] {
        let mut client = Client::start(&place, flags);
        client.send("crash", &json!({"code": 3}));
        assert_eq!(client.end(), (3, String::new()), "{flags:?}");
    }
}

#[test]
fn a_service_whose_caller_is_gone_is_not_started_again() {
    let place = Place::new();
    let mut client = Client::start(&place, &["--service", "memory", "--restart", "always"]);
    client.asks("initialize", &json!({}));
    let (code, err) = client.end();
    assert_eq!((code, err.as_str()), (0, ""), "it ended because its input did");
}

#[test]
fn a_signal_asks_for_a_new_start_and_another_one_for_the_end() {
    let place = Place::new();
    let mut client = Client::start(&place, &["--service", "memory"]);
    client.asks("remember", &json!({"text": "before"}));
    client.signal("USR1");
    until("the second life", || lives(&place) == 2);
    assert_eq!(client.asks("recall", &json!({}))["text"], "before");
    client.signal("TERM");
    let (code, err) = client.ended();
    assert_eq!((code, err.as_str()), (143, ""));
}

#[test]
fn a_kill_of_polder_leaves_nothing_of_a_service() {
    let place = Place::new();
    let held = Held::new(&place);
    let script = hold("cat");
    let mut command = place.polder(&["run", "--service", "x", "--restart", "always", "--", "sh", "-c", &script]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("polder");
    held.begun(&place);
    child.kill().expect("a kill");
    assert_eq!(child.wait().expect("an end").signal(), Some(9));
    held.ended();
}

#[test]
fn what_is_no_service_is_refused() {
    let place = Place::new();
    for (flags, why) in [
        (&["--service", "../x"][..], "is not a name for a service"),
        (&["--restart", "always"], "--service"),
        (&["--service", "x", "--tty"], "cannot be used with"),
        (&["--service", "x", "--untrusted"], "what is untrusted keeps nothing"),
    ] {
        let mut arguments = vec!["run"];
        arguments.extend(flags);
        arguments.extend(["--", "true"]);
        let said = place.says(&arguments);
        assert!(said.code == 125 && said.err.contains(why), "{flags:?}: {said:?}");
    }
    let said = place.says(&["run", "--service", "x", "--restart", "always", "--", "no-such-command"]);
    assert_eq!(said.code, 127, "what is not there is not started again: {said:?}");
}
