//! What a daemon has made, by its events. Docker remembers no more than its last 256, of whatever kind, and a health check
//! alone makes three: whoever wants to count has to listen from the beginning.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

/// Only containers that are made.
pub(super) const FILTER: &str = "filters=%7B%22type%22%3A%5B%22container%22%5D%2C%22event%22%3A%5B%22create%22%5D%7D";

type Lines = Arc<Mutex<Vec<String>>>;

/// What was heard of each socket.
static HEARD: Mutex<BTreeMap<String, Lines>> = Mutex::new(BTreeMap::new());

/// Listens from now on, to the end of this process.
pub(super) fn listen(socket: &str) {
    let mut heard = HEARD.lock().unwrap_or_else(PoisonError::into_inner);
    if heard.contains_key(socket) {
        return;
    }
    let mut daemon = UnixStream::connect(socket).expect("the daemon");
    let request = format!("GET /v1.40/events?{FILTER} HTTP/1.0\r\nHost: d\r\n\r\n");
    daemon.write_all(request.as_bytes()).expect("a request");
    let mut answer = BufReader::new(daemon);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(answer.read_line(&mut head).expect("an answer"), 0, "{head}");
    }
    assert!(head.contains(" 200 OK"), "{head}");
    let lines = Lines::default();
    heard.insert(socket.to_owned(), Arc::clone(&lines));
    std::thread::spawn(move || {
        answer.lines().map_while(Result::ok).for_each(|line| {
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        });
    });
}

/// How many containers of a polder are in what the daemon remembers, or in what was heard before it forgot it.
pub(super) fn count(socket: &str, remembered: &str, pid: u32) -> usize {
    let heard = HEARD.lock().unwrap_or_else(PoisonError::into_inner).get(socket).cloned().unwrap_or_default();
    let heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = remembered.lines().chain(heard.iter().map(String::as_str));
    let events = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let made = events.filter(|event| event["Action"] == "create" && event["Type"] == "container");
    let owner = pid.to_string();
    let own = made.filter(|event| event["Actor"]["Attributes"]["polder.owner"] == owner.as_str());
    let mut ids: Vec<String> = own.map(|event| event["Actor"]["ID"].to_string()).collect();
    ids.sort();
    ids.dedup();
    ids.len()
}
