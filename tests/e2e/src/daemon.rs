//! The container daemons that this machine declares.

use crate::place::{Place, Said};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;

/// An engine with a daemon, and where that listens.
#[derive(Debug)]
pub struct Daemon {
    /// The engine.
    pub engine: &'static str,
    /// What tells polder.
    pub variable: &'static str,
    /// `unix://…`.
    pub address: String,
}

/// What is declared and therefore there.
pub fn daemons() -> Vec<Daemon> {
    let declared = std::env::var("POLDER_TEST_HAS").unwrap_or_default();
    let known = [("docker", "DOCKER_HOST"), ("podman", "CONTAINER_HOST")];
    let is_declared = |engine: &str| declared.split(',').any(|name| name == engine);
    let found = known.into_iter().filter(|(engine, _)| is_declared(engine)).map(|(engine, variable)| Daemon {
        engine,
        variable,
        address: std::env::var(variable).expect("a declared daemon says where it listens"),
    });
    found.collect()
}

/// The image that every one of them has.
pub fn image() -> String {
    std::env::var("POLDER_TEST_IMAGE").expect("the image that every declared daemon has")
}

impl Daemon {
    /// Where it listens.
    pub fn socket(&self) -> &str {
        self.address.strip_prefix("unix://").expect("a socket of this machine")
    }

    /// The binary with these arguments, not started.
    pub fn polder(&self, place: &Place, arguments: &[&str]) -> Command {
        let mut command = place.polder(arguments);
        command.env(self.variable, &self.address).env("POLDER_TRUST_PROJECT", "1");
        command
    }

    /// The binary with these arguments, run to its end.
    pub fn says(&self, place: &Place, arguments: &[&str]) -> Said {
        self.polder(place, arguments).output().expect("polder").into()
    }

    /// The daemon's own list of the containers that a polder has made, as text.
    pub fn containers_of(&self, pid: u32) -> String {
        self.listed("containers/json?all=1&", pid)
    }

    /// Likewise the volumes; nothing where there are none.
    pub fn volumes_of(&self, pid: u32) -> String {
        let listed: serde_json::Value = serde_json::from_str(&self.listed("volumes?", pid)).expect("JSON");
        let none = listed["Volumes"].as_array().is_none_or(Vec::is_empty);
        if none { String::new() } else { listed.to_string() }
    }

    fn listed(&self, what: &str, pid: u32) -> String {
        let mut daemon = UnixStream::connect(self.socket()).expect("the daemon");
        let filter = format!("%7B%22label%22%3A%5B%22polder.owner%3D{pid}%22%5D%7D");
        let request = format!("GET /v1.40/{what}filters={filter} HTTP/1.0\r\nHost: d\r\n\r\n");
        daemon.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        daemon.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains(" 200 OK"), "{answer}");
        answer.split_once("\r\n\r\n").expect("a body").1.trim().to_owned()
    }
}
