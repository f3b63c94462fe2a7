//! What a command costs in a container that runs: by the daemon's own way, and by polder in a session.
//!
//! The daemon's own way is the command line that people use, and, to see what of it is the command line's start, the same
//! requests over the daemon's socket. Polder's way is a program that holds a session and is asked for one more command.

use super::table::{Case, starts};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Containers are slow, and their times differ by far more than what more rounds would tell.
const ROUNDS_MAX: usize = 30;
/// The example program that holds a session; beside polder.
pub(super) const PROGRAM: &str = "session";
/// What everything is compared with.
const BASE: usize = 0;

/// A daemon that was started for this, by the variable that names it.
const DAEMONS: [(&str, &str); 2] = [("docker", "DOCKER_HOST"), ("podman", "CONTAINER_HOST")];

pub(super) fn measure(polder: &Path, directory: &Path, rounds: usize) -> Result<String, String> {
    let rounds = rounds.min(ROUNDS_MAX);
    let mut text = String::new();
    let Ok(image) = std::env::var("POLDER_TEST_IMAGE") else { return Ok(text) };
    for (engine, variable) in DAEMONS {
        let Ok(host) = std::env::var(variable) else { continue };
        let workspace = directory.join(engine);
        fs::create_dir(&workspace).map_err(|error| error.to_string())?;
        let configuration = format!("sandboxes: {{box: {{engine: {engine}, image: '{image}'}}}}\nsandbox: box\n");
        fs::write(workspace.join("polder.yaml"), configuration).map_err(|error| error.to_string())?;
        let table = one_daemon(polder, &workspace, &host, &image, rounds)?;
        text.push_str(&format!("\n### In containers of {engine}, {rounds} interleaved rounds\n\n{table}"));
    }
    Ok(text)
}

/// One way to run a command.
type Way<'a> = &'a mut dyn FnMut() -> Result<(), String>;

fn one_daemon(polder: &Path, workspace: &Path, host: &str, image: &str, rounds: usize) -> Result<String, String> {
    let container = Running::start(host, image, workspace)?;
    let mut session = Session::start(polder, workspace)?;
    let mut by_docker = || done(docker(host).args(["exec", &container.id, "true"]));
    let mut by_socket = || container.exec();
    let mut by_session = || session.run("true");
    let mut whole = || done(docker(host).args(["run", "--rm"]).args(hardened(workspace)).args([image, "true"]));
    let mut by_polder = || done(Command::new(polder).args(["run", "-C"]).arg(workspace).args(["--", "true"]));
    let mut ways: [(&str, Way<'_>); 5] = [
        ("docker exec", &mut by_docker),
        ("the same by the daemon's socket", &mut by_socket),
        ("polder, one more command of a session", &mut by_session),
        ("docker run", &mut whole),
        ("polder run", &mut by_polder),
    ];
    let names: Vec<Case> = ways.iter().map(|(name, _)| Case::new(*name, Vec::new())).collect();
    let mut times = vec![Vec::with_capacity(rounds); names.len()];
    // The first round makes the session's container and warms the caches.
    for round in 0..rounds + 1 {
        for ((_, way), times) in ways.iter_mut().zip(&mut times) {
            let begin = Instant::now();
            way()?;
            if round > 0 {
                times.push(begin.elapsed());
            }
        }
    }
    times.iter_mut().for_each(|times: &mut Vec<Duration>| times.sort());
    Ok(starts(&names, &times, BASE))
}

/// The same daemon, by its usual command line.
fn docker(host: &str) -> Command {
    let mut command = Command::new("docker");
    command.args(["--host", host]);
    command
}

/// What makes a container of the daemon's own comparable, as far as a daemon can.
fn hardened(workspace: &Path) -> Vec<String> {
    let mount = format!("type=bind,source={},target=/workspace", workspace.display());
    let words =
        "--network none --cap-drop ALL --security-opt no-new-privileges --read-only --tmpfs /tmp --workdir /workspace";
    let words = words.split(' ').map(str::to_owned);
    words.chain(["--mount".to_owned(), mount]).collect()
}

fn done(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{command:?} ended with {}: {}", output.status, said())) }
}

/// A container of the daemon's own. It goes away with the value.
struct Running<'a> {
    host: &'a str,
    id: String,
}

impl<'a> Running<'a> {
    fn start(host: &'a str, image: &str, workspace: &Path) -> Result<Self, String> {
        let mut command = docker(host);
        command.args(["run", "--detach", "--rm"]).args(hardened(workspace)).args([image, "sleep", "3600"]);
        let output = command.output().map_err(|error| format!("docker: {error}"))?;
        if !output.status.success() {
            return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Ok(Self { host, id: String::from_utf8_lossy(&output.stdout).trim().to_owned() })
    }

    /// Three requests, as every client makes them: prepare, start and read to the end, ask how it ended.
    fn exec(&self) -> Result<(), String> {
        let body = r#"{"Cmd":["true"],"AttachStdout":true,"AttachStderr":true}"#;
        let made = self.ask("POST", &format!("containers/{}/exec", self.id), body)?;
        let id = made.split('"').nth(3).ok_or("no id")?.to_owned();
        self.ask("POST", &format!("exec/{id}/start"), r#"{"Detach":false,"Tty":false}"#)?;
        let state = self.ask("GET", &format!("exec/{id}/json"), "")?;
        if state.replace(' ', "").contains(r#""ExitCode":0"#) { Ok(()) } else { Err(state) }
    }

    fn ask(&self, method: &str, what: &str, body: &str) -> Result<String, String> {
        let socket = self.host.strip_prefix("unix://").ok_or("not a socket")?;
        let mut stream = UnixStream::connect(socket).map_err(|error| error.to_string())?;
        let head = format!("{method} /v1.40/{what} HTTP/1.0\r\nHost: d\r\nContent-Type: application/json\r\n");
        let text = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(|error| error.to_string())?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).ok_or(answer)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _ = docker(self.host).args(["rm", "--force", &self.id]).stdout(Stdio::null()).status();
    }
}

/// The example program. Its session ends with its input.
struct Session {
    child: Child,
    asks: Option<ChildStdin>,
    hears: BufReader<ChildStdout>,
}

impl Session {
    fn start(polder: &Path, workspace: &Path) -> Result<Self, String> {
        let program = polder.with_file_name(PROGRAM);
        let child = Command::new(&program).arg(workspace).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("{}: {error}", program.display()))?;
        let (asks, hears) = (child.stdin.take(), child.stdout.take());
        Ok(Self { child, asks, hears: BufReader::new(hears.ok_or("no output")?) })
    }

    fn run(&mut self, command: &str) -> Result<(), String> {
        let asks = self.asks.as_mut().ok_or("no input")?;
        writeln!(asks, "{command}").map_err(|error| error.to_string())?;
        let mut line = String::new();
        self.hears.read_line(&mut line).map_err(|error| error.to_string())?;
        if line.starts_with("0 ") { Ok(()) } else { Err(format!("the session said `{}`", line.trim())) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.asks.take());
        let _ = self.child.wait();
    }
}
