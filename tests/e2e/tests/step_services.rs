//! Services beside a step, each in a sandbox of its own, with a loopback in common.
#![forbid(unsafe_code)]

use polder_e2e::{Held, Place, Said, hold, is_root, until};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// Answers every connection with a line.
const SERVER: &str = "import socket,sys
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', int(sys.argv[1]))); s.listen()
while True:
    c, _ = s.accept(); c.sendall(b'served'); c.close()
";
/// Prints what a connection to a port says, or why there is none.
const CLIENT: &str = "import socket,sys
try: print(socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5).recv(100).decode())
except OSError as e: print(type(e).__name__)
";

fn place(config: &str) -> Place {
    let place = Place::new().trusting();
    place.write("work/server.py", SERVER);
    place.write("work/client.py", CLIENT);
    place.write("work/polder.yaml", config);
    place
}

/// A port of the host on which nobody listens, and that a service can have inside.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

fn start(place: &Place) -> Child {
    place.polder(&["steps"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder")
}

fn send(child: &Child, signal: &str) {
    let status = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().expect("kill");
    assert!(status.success());
}

#[test]
fn a_step_reaches_its_service_and_neither_reaches_the_host_nor_is_reached_from_there() {
    let host = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (outside, inside) = (host.local_addr().expect("an address").port(), free_port());
    std::thread::spawn(move || {
        use std::io::Write;
        host.incoming().flatten().for_each(|mut stream| drop(stream.write_all(b"host")));
    });
    let ask = "python3 client.py";
    let config = format!(
        "services: {{web: {{exec: '{ask} {outside} >service; exec python3 server.py {inside}', ready: {{port: {inside}}}}}}}\n\
         steps:\n  beside: {{exec: '{ask} {inside}; {ask} {outside}; touch up; while ! test -e go; do sleep 0.05; done', services: web}}\n  \
         control: {{exec: '{ask} {outside}', network: true, depends_on: beside}}\n"
    );
    let place = place(&config);
    let child = start(&place);
    until("the step", || place.has("work/up"));
    assert!(TcpStream::connect(("127.0.0.1", inside)).is_err(), "the service is reached from the host");
    place.write("work/go", "");
    let said = Said::from(child.wait_with_output().expect("an end"));
    assert_eq!((said.code, said.out.as_str()), (0, "served\nConnectionRefusedError\nhost\n"), "{said:?}");
    assert_eq!(place.read("work/service"), "ConnectionRefusedError\n", "the service reaches the host");
    // The control: outside of a sandbox the same server is reached by everybody.
    let mut server = place.command("python3").args(["server.py", &inside.to_string()]).spawn().expect("python3");
    until("the server", || TcpStream::connect(("127.0.0.1", inside)).is_ok());
    server.kill().and_then(|()| server.wait()).expect("its end");
}

#[test]
fn a_step_and_its_service_have_nothing_else_in_common() {
    // The shell counts by itself: of programs that it starts for it, sometimes one and sometimes two are there.
    let look = "ls /tmp; set -- /proc/[0-9]*; echo $#; grep Cap /proc/self/status | sort -u -k2";
    let place = place(&format!(
        "sandboxes: {{ro: {{read_only: true}}}}\n\
         services: {{web: {{exec: 'touch /tmp/its-own; touch here || exec python3 server.py 8081', sandbox: ro, ready: {{port: 8081}}}}}}\n\
         steps: {{a: {{exec: \"{look}; unshare -n true || echo no\", services: web}}, b: {{exec: \"{look}\"}}}}\n"
    ));
    let said = place.says(&["steps"]);
    assert_eq!(said.code, 0, "{said:?}");
    let (beside, alone): (Vec<&str>, Vec<&str>) =
        said.out.split_once("no\n").map(|(a, b)| (a.lines().collect(), b.lines().collect())).expect("two");
    assert_eq!(beside, alone, "what a step sees is the same with and without a service");
    assert!(
        beside.iter().filter(|line| line.starts_with("Cap")).all(|line| line.ends_with("0000000000000000")),
        "{said:?}"
    );
    assert!(!place.has("work/here"), "the service has a policy of its own");
}

#[test]
fn services_start_in_order_and_a_command_can_say_that_one_is_ready() {
    let place = place(
        "services:\n  second: {exec: 'test -e first && touch second; exec sleep 600', depends_on: first, ready: {exec: 'test -e second'}}\n  \
         first: {command: [sh, -c, 'sleep 0.2; touch first; exec python3 server.py 8082'], env: {A: b}, ready: {port: 8082, timeout: 15s}}\n\
         steps: {a: {exec: 'python3 client.py 8082; ls first second', services: [second]}}\n",
    );
    let said = place.says(&["steps"]);
    assert_eq!((said.code, said.out.as_str()), (0, "served\nfirst\nsecond\n"), "{said:?}");
    let said = place.says(&["steps", "--dry-run"]);
    assert!(
        said.code == 0 && said.out.contains("beside it first") && said.out.contains("beside it second"),
        "{said:?}"
    );
}

#[test]
fn a_service_that_does_not_come_breaks_the_step_with_its_last_words() {
    for (service, wanted) in [
        (
            "{exec: 'echo one; echo no config here >&2; exit 3', ready: {port: 8080}}",
            "ended before it was ready; its last lines: one | no config here",
        ),
        (
            "{exec: 'echo waiting; exec sleep 600', ready: {port: 8080, timeout: 300ms}}",
            "was not ready after 300ms: nobody listens on port 8080; its last lines: waiting",
        ),
        (
            "{exec: 'exec sleep 600', ready: {exec: 'false', timeout: 300ms}}",
            "its `ready.exec` did not succeed; it wrote nothing",
        ),
        ("{command: [no-such-program], ready: {port: 8080}}", "ended before it was ready"),
    ] {
        let place = place(&format!(
            "services: {{web: {service}}}\nsteps: {{a: {{exec: 'touch ran', services: web}}, b: {{exec: 'touch ran', depends_on: a}}}}\n"
        ));
        let said = place.says(&["steps"]);
        assert!(said.code == 125 && said.err.contains(wanted), "{service}: {said:?}");
        assert!(!place.has("work/ran"), "{service}");
    }
    // One that somebody else's port keeps from coming, and one that dies while the step needs it.
    let clash = place(
        "services:\n  one: {exec: 'python3 server.py 8083 & until python3 client.py 8083 | grep -q served; do :; done; exec python3 server.py 8084', ready: {port: 8084}}\n  \
         two: {exec: 'sleep 600', ready: {port: 8083}, depends_on: one}\nsteps: {a: {exec: 'touch ran', services: two}}\n",
    );
    let said = clash.says(&["steps"]);
    let told = "cannot have port 8083: somebody listens there already";
    assert!(said.code == 125 && said.err.contains(told) && !clash.has("work/ran"), "{said:?}");
    let dies = place(
        "services: {web: {exec: 'python3 server.py 8085 & while ! test -e die; do sleep 0.05; done; echo killed by a bug; exit 1', ready: {port: 8085}}}\n\
         steps: {a: {exec: 'touch die; while python3 client.py 8085 | grep -q served; do sleep 0.05; done; exit 7', services: web}}\n",
    );
    let said = dies.says(&["steps"]);
    assert!(said.code == 125 && said.err.contains("exit code 7, after its service `web` had ended"), "{said:?}");
}

#[test]
fn whatever_happens_nothing_of_a_service_is_left() {
    let serves = hold("exec python3 server.py 8086").replace('\n', "\n      ");
    for (step, signal, code) in [
        ("exit 0", None, 0),
        ("exit 3", None, 1),
        ("touch began; exec sleep 600", Some("INT"), 130),
        ("touch began; exec sleep 600", Some("KILL"), -9),
    ] {
        let place = place(&format!(
            "services:\n  web:\n    ready: {{port: 8086}}\n    exec: |\n      {serves}\nsteps: {{a: {{exec: '{step}', services: web}}}}\n"
        ));
        let held = Held::new(&place);
        let child = start(&place);
        held.begun(&place);
        if let Some(signal) = signal {
            until("the step", || place.has("work/began"));
            send(&child, signal);
        }
        let said = Said::from(child.wait_with_output().expect("an end"));
        assert!(said.code == code || signal == Some("INT") && said.code != 0, "{step} {signal:?}: {said:?}");
        until("the end of the service", || held.is_free());
    }
    // Somebody who waits for a service that never comes can be stopped, too.
    let place = place(&format!(
        "services:\n  web:\n    ready: {{port: 8087}}\n    exec: |\n      {serves}\nsteps: {{a: {{exec: 'touch ran', services: web}}}}\n"
    ));
    let held = Held::new(&place);
    let child = start(&place);
    held.begun(&place);
    send(&child, "TERM");
    let said = Said::from(child.wait_with_output().expect("an end"));
    assert!(said.code != 0 && !place.has("work/ran") && held.is_free(), "{said:?}");
}

#[test]
fn what_cannot_be_kept_is_refused_before_anything_starts() {
    let services = "services: {web: {exec: 'touch ran; exec sleep 600', ready: {port: 8080}}}\n";
    for (rest, wanted) in [
        (
            "steps: {a: {exec: 'touch ran', network: true, services: web}}",
            "services are reached on a loopback, and the network is `full`",
        ),
        (
            "sandboxes: {s: {engine: bubblewrap}}\nsteps: {a: {exec: 'touch ran', sandbox: s, services: web}}",
            "engine `bubblewrap` gives every command a network of its own",
        ),
        (
            "sandboxes: {s: {workspace: cow}}\nsandbox: s\nsteps: {a: {exec: 'touch ran', services: web}}",
            "works on the tree itself",
        ),
        ("steps: {a: {exec: 'touch ran', services: wbe}}", "there is no service `wbe`; did you mean `web`?"),
    ] {
        let place = place(&format!("{services}{rest}\n"));
        let said = place.says(&["steps"]);
        assert!(said.code == 125 && said.err.contains(wanted) && !place.has("work/ran"), "{rest}: {said:?}");
    }
}

#[test]
fn what_there_is_to_explain_and_to_count_is_the_step() {
    let place = place(
        "services: {web: {exec: 'sleep 0.6; touch ready; exec sleep 600', ready: {exec: 'test -e ready'}}}\nsteps: {a: {exec: 'exit 4', services: web}}\n",
    );
    let mut command = place.polder(&["steps"]);
    let said = Said::from(command.env("POLDER_METRICS_FILE", place.home().join("x.prom")).output().expect("polder"));
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(
        place.says(&["explain", "--list"]).out.lines().count(),
        1,
        "neither the service nor those who asked for it"
    );
    let counted = place.read("home/x.prom");
    let runs: Vec<_> = counted.lines().filter(|line| line.starts_with("polder_sandbox_runs_total")).collect();
    assert!(
        runs.len() == 2 && runs[0].ends_with("\"failed\"} 1") && runs[1].ends_with("\"interrupted\"} 1"),
        "{runs:?}"
    );
}

#[test]
fn services_are_in_the_audit_log() {
    let place = place(
        "services: {web: {exec: 'exec python3 server.py 8088', ready: {port: 8088}}}\nsteps: {a: {exec: 'python3 client.py 8088', services: web}}\n",
    );
    place.write("home/.config/polder/polder.yaml", "audit: required\n");
    let said = place.says(&["steps"]);
    assert_eq!((said.code, said.out.as_str()), (0, "served\n"), "{said:?}");
    let shown = place.says(&["audit", "export"]).out;
    assert_eq!(shown.matches("\"run-begin\"").count(), 2, "{shown}");
    assert_eq!(shown.matches("\"run-end\"").count(), 2, "{shown}");
}

#[test]
fn steps_at_once_have_services_of_their_own_on_the_same_port() {
    // Where there are limits, a service is in a cgroup as every command is.
    let limits = if is_root() { "limits: {pids: 50, memory: 300M}, " } else { "" };
    let place = place(&format!(
        "services: {{web: {{exec: 'exec python3 server.py 8089', {limits}ready: {{port: 8089}}}}}}\n\
         steps:\n  a: {{exec: 'touch a; while ! test -e b; do sleep 0.05; done; python3 client.py 8089', services: web}}\n  \
         b: {{exec: 'touch b; while ! test -e a; do sleep 0.05; done; python3 client.py 8089', services: web}}\n  \
         without: {{exec: 'python3 client.py 8089', depends_on: [a, b]}}\n"
    ));
    let said = place.says(&["steps"]);
    assert_eq!((said.code, said.out.as_str()), (0, "served\nserved\nConnectionRefusedError\n"), "{said:?}");
}
