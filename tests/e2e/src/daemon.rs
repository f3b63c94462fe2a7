//! The container daemons that this machine declares.

mod made;

use crate::place::{Place, Said};
use libtest_mimic::{Arguments, Trial};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

/// An engine with a daemon, and where that listens.
#[derive(Debug)]
pub struct Daemon {
    /// The engine.
    pub engine: &'static str,
    /// What tells polder.
    pub variable: &'static str,
    /// `unix://…`.
    pub address: String,
    /// In seconds. Process ids come back, within minutes where there are 32,768 of them: what somebody made before has no
    /// part in this test.
    since: u64,
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
        since: seconds(),
    });
    found.collect()
}

/// The whole of a program of tests that need a daemon. Where none is declared they are listed as ignored.
pub fn with_daemons(tests: &[(&'static str, fn())]) -> ExitCode {
    all(tests, daemons().is_empty())
}

/// The same for tests that need a runtime of Docker's with a kernel of its own, which `POLDER_TEST_RUNTIME` names.
pub fn with_runtime(tests: &[(&'static str, fn())]) -> ExitCode {
    all(tests, docker().is_none() || std::env::var_os("POLDER_TEST_RUNTIME").is_none())
}

/// Docker, where it is declared.
pub fn docker() -> Option<Daemon> {
    daemons().into_iter().find(|daemon| daemon.engine == "docker")
}

fn all(tests: &[(&'static str, fn())], missing: bool) -> ExitCode {
    let trial = |(name, test): &(&'static str, fn())| {
        let test = *test;
        Trial::test(*name, move || {
            test();
            Ok(())
        })
        .with_ignored_flag(missing)
    };
    libtest_mimic::run(&Arguments::from_args(), tests.iter().map(trial).collect()).exit_code()
}

/// The image that every one of them has.
pub fn image() -> String {
    std::env::var("POLDER_TEST_IMAGE").expect("the image that every declared daemon has")
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Daemon {
    /// Where it listens.
    pub fn socket(&self) -> &str {
        self.address.strip_prefix("unix://").expect("a socket of this machine")
    }

    /// The binary with these arguments, not started.
    pub fn polder(&self, place: &Place, arguments: &[&str]) -> Command {
        if self.engine == "docker" {
            made::listen(self.socket());
        }
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

    /// How many containers a polder has made since this value is there, as the daemon remembers it.
    pub fn made_by(&self, pid: u32) -> usize {
        let (since, now) = (self.since, seconds());
        let told = match self.engine {
            "podman" => self.asked("GET", &format!("libpod/events?stream=false&since={since}")),
            // Until the end of this second, so that nothing of it is left out.
            _ => self.asked("GET", &format!("events?since={since}&until={}&{}", now + 1, made::FILTER)),
        };
        made::count(self.socket(), &told, pid)
    }

    /// Everything that the daemon knows of a container.
    pub fn inspected(&self, id: &str) -> String {
        self.asked("GET", &format!("containers/{id}/json"))
    }

    /// Removes the containers of a polder behind its back.
    pub fn remove_containers_of(&self, pid: u32) {
        let listed: serde_json::Value = serde_json::from_str(&self.containers_of(pid)).expect("JSON");
        for id in listed.as_array().into_iter().flatten().filter_map(|container| container["Id"].as_str()) {
            self.asked("DELETE", &format!("containers/{id}?force=1"));
        }
    }

    /// Everything that the daemon knows of a container which is given a variable in the plain way.
    pub fn inspected_with(&self, variable: &str) -> String {
        let body = serde_json::json!({ "Image": image(), "Cmd": ["true"], "Env": [variable] }).to_string();
        let made: serde_json::Value =
            serde_json::from_str(&self.sent("POST", "containers/create", Some(("application/json", body.as_bytes()))))
                .expect("JSON");
        let id = made["Id"].as_str().expect("an id");
        let inspected = self.inspected(id);
        self.asked("DELETE", &format!("containers/{id}?force=1"));
        inspected
    }

    /// Ends the services of a polder behind its back.
    pub fn end_services_of(&self, pid: u32) {
        let listed: serde_json::Value = serde_json::from_str(&self.containers_of(pid)).expect("JSON");
        let services =
            listed.as_array().into_iter().flatten().filter(|container| container["Labels"]["polder.service"] == "yes");
        for id in services.filter_map(|container| container["Id"].as_str()) {
            self.asked("POST", &format!("containers/{id}/kill"));
        }
    }

    /// How many containers run, whoever made them.
    pub fn containers_running(&self) -> usize {
        let listed: serde_json::Value = serde_json::from_str(&self.asked("GET", "containers/json")).expect("JSON");
        listed.as_array().map_or(0, Vec::len)
    }

    /// Makes an image from a packed directory with a `Dockerfile`.
    pub fn make_image(&self, name: &str, packed: &[u8]) {
        let told = self.sent("POST", &format!("build?t={name}&pull=0"), Some(("application/x-tar", packed)));
        assert!(!told.contains("\"error\""), "{told}");
    }

    /// Removes an image that a test has brought.
    pub fn forget_image(&self, name: &str) {
        self.asked("DELETE", &format!("images/{name}?force=1"));
    }

    fn listed(&self, what: &str, pid: u32) -> String {
        let filter = format!("%7B%22label%22%3A%5B%22polder.owner%3D{pid}%22%5D%7D");
        self.asked("GET", &format!("{what}filters={filter}"))
    }

    /// The daemon's answer to a question, which is not polder's own client's.
    fn asked(&self, method: &str, what: &str) -> String {
        self.sent(method, what, None)
    }

    /// The same for a question with something to it, of this kind.
    fn sent(&self, method: &str, what: &str, body: Option<(&str, &[u8])>) -> String {
        let mut daemon = UnixStream::connect(self.socket()).expect("the daemon");
        let (kind, body) = body.unwrap_or(("application/json", &[]));
        let length = body.len();
        let request = format!(
            "{method} /v1.40/{what} HTTP/1.0\r\nHost: d\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        daemon.write_all(request.as_bytes()).expect("a request");
        daemon.write_all(body).expect("a body");
        let mut answer = String::new();
        daemon.read_to_string(&mut answer).expect("an answer");
        let fine = [" 200 OK", " 201 Created", " 204 No Content"].iter().any(|status| answer.contains(status));
        assert!(fine, "{answer}");
        answer.split_once("\r\n\r\n").expect("a body").1.trim().to_owned()
    }
}
