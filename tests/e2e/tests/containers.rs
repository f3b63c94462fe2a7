//! Commands in containers, by every daemon that this machine declares.

use polder_e2e::{Place, Said, until};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

/// An engine with a daemon, and where that listens.
struct Daemon {
    engine: &'static str,
    variable: &'static str,
    address: String,
}

/// What is declared and therefore there.
fn daemons() -> Vec<Daemon> {
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

fn image() -> String {
    std::env::var("POLDER_TEST_IMAGE").expect("the image that every declared daemon has")
}

impl Daemon {
    fn socket(&self) -> &str {
        self.address.strip_prefix("unix://").expect("a socket of this machine")
    }

    fn polder(&self, place: &Place, arguments: &[&str]) -> Command {
        let mut command = place.polder(arguments);
        command.env(self.variable, &self.address).env("POLDER_TRUST_PROJECT", "1");
        command
    }

    fn says(&self, place: &Place, arguments: &[&str]) -> Said {
        self.polder(place, arguments).output().expect("polder").into()
    }

    /// The daemon's own list of the containers that a polder has made, as text.
    fn containers_of(&self, pid: u32) -> String {
        let mut daemon = UnixStream::connect(self.socket()).expect("the daemon");
        let filter = format!("%7B%22label%22%3A%5B%22polder.owner%3D{pid}%22%5D%7D");
        let request = format!("GET /v1.40/containers/json?all=1&filters={filter} HTTP/1.0\r\nHost: d\r\n\r\n");
        daemon.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        daemon.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains(" 200 OK"), "{answer}");
        answer.split_once("\r\n\r\n").expect("a body").1.trim().to_owned()
    }

    fn configure(&self, place: &Place, more: &str) {
        let text =
            format!("sandboxes:\n  box: {{engine: {}, image: '{}'{more}}}\nsandbox: box\n", self.engine, image());
        place.write("work/polder.yaml", text);
    }
}

#[test]
fn an_image_has_its_own_programs_and_the_callers_files() {
    for daemon in daemons() {
        let place = Place::new();
        daemon.configure(&place, "");
        let script = "test ! -e /usr/bin/python3 && touch made && echo hello && echo no >&2 && exit 7";
        let said = daemon.says(&place, &["run", "--", "sh", "-c", script]);
        assert_eq!((said.code, said.out.as_str()), (7, "hello\n"), "{said:?}");
        assert!(said.err.contains("no\n"), "{said:?}");
        let owner = |path| std::fs::metadata(path).expect("a file").uid();
        assert_eq!(owner(place.work().join("made")), owner(place.work()), "files belong to the caller");
        // The root of the image is nobody's to write, and neither the host nor anything of polder's is there.
        let said =
            daemon.says(&place, &["run", "--", "sh", "-c", "touch /bin/x || ls /.polder || ls /sys || ls /etc/shadow"]);
        // The command's own failure, and not polder's.
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.err.contains("/bin/x: Read-only file system"), "{said:?}");
    }
}

#[test]
fn strange_names_reach_a_container() {
    for daemon in daemons() {
        let place = Place::new();
        daemon.configure(&place, "");
        place.write("work/a:b,c=d e/inside", "seen");
        let directory = place.work().join("a:b,c=d e");
        let directory = directory.to_str().expect("text");
        let said = daemon.says(&place, &["run", "-C", directory, "--", "cat", "inside"]);
        assert_eq!((said.code, said.out.as_str()), (0, "seen"), "{said:?}");
    }
}

#[test]
fn whatever_ends_polder_no_container_stays() {
    for daemon in daemons() {
        for signal in ["KILL", "TERM", "INT"] {
            let place = Place::new();
            daemon.configure(&place, "");
            let script = "touch begun; sleep 600";
            let mut command = daemon.polder(&place, &["run", "--", "sh", "-c", script]);
            let mut polder = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("polder");
            until("the command", || place.has("work/begun"));
            assert_ne!(daemon.containers_of(polder.id()), "[]", "the control: there is a container");
            let sent = Command::new("kill").args(["-s", signal, &polder.id().to_string()]).status();
            assert!(sent.expect("kill").success());
            let id = polder.id();
            polder.wait().expect("the end of polder");
            until("the end of the container", || daemon.containers_of(id) == "[]");
        }
    }
}

#[test]
fn what_cannot_be_done_is_one_clear_error_and_leaves_nothing() {
    for daemon in daemons() {
        let place = Place::new();
        let engine = daemon.engine;
        let configure = |image: &str| {
            let table = "options: {pull: never}";
            let text = format!("sandboxes:\n  box: {{engine: {engine}, image: '{image}', {table}}}\nsandbox: box\n");
            place.write("work/polder.yaml", text);
        };
        let refused = |command: &mut Command, words: &str| {
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder");
            let id = child.id();
            let _ = child.stdin.take();
            let said: Said = child.wait_with_output().expect("an end").into();
            assert_eq!(said.code, 125, "{words}: {said:?}");
            assert!(said.err.contains(words), "{words}: {}", said.err);
            assert!(!place.has("work/ran"), "{words}: something ran");
            assert_eq!(daemon.containers_of(id), "[]", "{words}: a container stayed");
        };
        let touch = ["run", "--", "touch", "ran"];
        configure("no-such/image:here");
        refused(&mut daemon.polder(&place, &touch), "no-such/image:here");
        configure("Upper/Case");
        refused(&mut daemon.polder(&place, &touch), "lower case");
        configure(&image());
        let bound = ["run", "--bind", "/no/such/source:/opt/x", "--", "touch", "ran"];
        refused(&mut daemon.polder(&place, &bound), "/no/such/source");
        let mut elsewhere = daemon.polder(&place, &touch);
        refused(elsewhere.env(daemon.variable, "unix:///no/such/daemon.sock"), "/no/such/daemon.sock");
        // Whoever reaches the daemon is root, or the caller without a sandbox.
        let directory = std::path::Path::new(daemon.socket()).parent().expect("a directory");
        let directory = format!("{}:/opt/daemon", directory.display());
        let shown = ["run", "--bind", &directory, "--", "touch", "ran"];
        refused(&mut daemon.polder(&place, &shown), "socket");
    }
}
