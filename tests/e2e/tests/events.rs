//! `polder run --json`: events as lines.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};
use serde_json::Value;

fn events(said: &Said) -> Vec<Value> {
    said.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().expect("a type")).collect()
}

#[test]
fn come_in_order_with_their_fields() {
    let place = Place::new();
    let said = place.says(&["run", "--json", "--", "sh", "-c", "echo out; exit 3"]);
    assert_eq!((said.code, said.err.as_str()), (3, ""), "{said:?}");
    let events = events(&said);
    assert_eq!(kinds(&events), ["starting", "ready", "stdout", "exit", "stopped"]);
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], index + 1);
        assert_eq!(event["run"], events[0]["run"]);
        let time = event["time"].as_str().expect("a time");
        // 2026-11-15T10:00:00.000Z
        assert!(time.len() == 24 && time.ends_with('Z') && &time[10..11] == "T", "{time}");
        let first: Vec<&str> = event.as_object().expect("an object").keys().map(String::as_str).collect();
        assert!(["type", "run", "seq", "time"].iter().all(|key| first.contains(key)), "{event}");
    }
    assert!(events[0]["engine"].is_string() && events[0]["reason"].is_string());
    assert_eq!(events[2]["data"], "out\n");
    let outcome = events[3]["outcome"].as_object().expect("an outcome");
    let keys: Vec<&str> = outcome.keys().map(String::as_str).collect();
    let expected = ["cpuMs", "exitCode", "limit", "peakRssBytes", "signal", "state", "violations", "wallMs"];
    assert_eq!(keys, expected);
    assert_eq!((&outcome["state"], &outcome["exitCode"]), (&"exited".into(), &3.into()));
}

#[test]
fn carry_bytes_that_are_no_text() {
    let place = Place::new();
    let said = place.says(&["run", "--json", "--", "printf", r"\377\000x"]);
    let events = events(&said);
    let event = events.iter().find(|event| event["type"] == "stdout").expect("output");
    assert_eq!(event["base64"], "/wB4");
    assert!(event.get("data").is_none());
}

#[test]
fn do_not_cut_characters_into_nonsense() {
    // Output comes in chunks, and a chunk may end inside a character: whatever the form, the bytes are all there.
    let place = Place::new();
    let said = place.says(&["run", "--json", "--", "python3", "-c", "print('é' * 100000, end='')"]);
    let mut bytes = 0;
    for event in events(&said).iter().filter(|event| event["type"] == "stdout") {
        bytes += match (&event["data"], &event["base64"]) {
            (Value::String(text), Value::Null) => text.len(),
            (Value::Null, Value::String(text)) => {
                text.len() / 4 * 3 - text.bytes().rev().take_while(|b| *b == b'=').count()
            }
            other => panic!("{other:?}"),
        };
    }
    assert_eq!(bytes, 200_000);
}

#[test]
fn tell_endings() {
    let place = Place::new();
    let last = |arguments: &[&str]| {
        let mut all = vec!["run", "--json"];
        all.extend(arguments);
        let said = place.says(&all);
        let exit =
            events(&said).into_iter().find(|event| event["type"] == "exit").unwrap_or_else(|| panic!("{said:?}"));
        (said.code, exit["outcome"]["state"].as_str().unwrap_or_default().to_owned(), exit["outcome"].clone())
    };
    let (code, state, outcome) = last(&["--", "sh", "-c", "kill -9 $$"]);
    assert_eq!((code, state.as_str(), &outcome["signal"]), (137, "signalled", &9.into()));
    let (code, state, _) = last(&["--timeout", "200ms", "--", "sleep", "60"]);
    assert_eq!((code, state.as_str()), (124, "timed-out"));
    let (code, state, outcome) = last(&["--output", "1K", "--", "yes"]);
    assert_eq!((code, state.as_str(), &outcome["limit"]), (137, "limit", &"output".into()));
    let (code, state, _) = last(&["--", "no-such-command"]);
    assert_eq!((code, state.as_str()), (127, "not-found"));
    let (code, state, _) = last(&["--", "/etc/passwd"]);
    assert_eq!((code, state.as_str()), (126, "not-executable"));
}

#[test]
fn tell_violations_with_their_grant() {
    let place = Place::new();
    place.write("work/polder.yaml", "sandboxes:\n  a:\n    protect: [held]\nsandbox: a\n");
    let said = place.says(&["run", "--json", "--", "sh", "-c", "echo x >held"]);
    let events = events(&said);
    let event = events.iter().find(|event| event["type"] == "violation").unwrap_or_else(|| panic!("{said:?}"));
    let violation = event["violation"].as_object().expect("a violation");
    let keys: Vec<&str> = violation.keys().map(String::as_str).collect();
    assert_eq!(keys, ["action", "count", "exe", "layer", "note", "pid", "rule", "suggestedCapability", "target"]);
    assert_eq!(violation["action"], "file-write");
    assert_eq!(violation["target"], place.work().join("held").display().to_string());
    assert!(violation["rule"].as_str().is_some_and(|rule| rule.contains("polder.yaml:3")), "{event}");
    let grant = violation["suggestedCapability"].as_str().expect("a grant").to_owned();
    // As text: one line that says what was blocked and which flag allows it; and the flag does.
    let said = place.says(&["run", "--", "sh", "-c", "echo x >held"]);
    assert!(said.err.contains(&format!("--allow {grant}")), "{}", said.err);
    let said = place.says(&["run", "--allow", &grant, "--", "sh", "-c", "echo x >held"]);
    assert_eq!((said.code, place.read("work/held").as_str()), (0, "x\n"), "{said:?}");
}

#[test]
fn an_error_is_an_error_also_with_json() {
    let place = Place::new();
    let said = place.says(&["run", "--json", "--timeout", "0s", "--", "true"]);
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
    assert!(said.err.starts_with("polder: "), "{}", said.err);
}

#[test]
fn every_kind_has_its_fields() {
    let place = Place::new();
    let told = |arguments: &[&str]| events(&place.says(&[&["run", "--json"], arguments].concat()));
    let one = |events: &[Value], kind: &str| {
        let found = events.iter().find(|event| event["type"] == kind);
        found.unwrap_or_else(|| panic!("{kind} is not told: {events:?}")).clone()
    };
    // By itself: what a flood beside it leaves of it is another question.
    assert_eq!(one(&told(&["--", "sh", "-c", "echo err >&2"]), "stderr")["data"], "err\n");
    let events = told(&["--cow", "--output", "4K", "--", "sh", "-c", "echo x > new; yes"]);
    assert_eq!(one(&events, "limit")["limit"], "output");
    let changes = one(&events, "changes");
    assert!(changes["workspace"].is_string() && changes["changed"] == true && changes["kept"] == true, "{changes}");
    let violation = one(&events, "violation")["violation"].clone();
    assert_eq!((&violation["action"], &violation["target"]), (&"limit".into(), &"output".into()));
    assert_eq!(kinds(&events).last(), Some(&"stopped"));
    // A gap that is accepted: only the host itself has one everywhere.
    place.write("home/.config/polder/polder.yaml", "allow_unsandboxed: true\n");
    let events = told(&["--engine", "none", "--", "true"]);
    let downgrade = one(&events, "downgrade");
    assert!(downgrade["guarantee"].is_string() && downgrade["reason"].is_string(), "{downgrade}");
}
