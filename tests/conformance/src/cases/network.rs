//! What can be reached.

use crate::scene::{Scene, told};
use polder::{Finished, Sandbox};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Says `reached` on the first connection that it can make; fails if it can make none.
const CONNECT: &str = "import socket,sys\n\
    for host, port in zip(sys.argv[1::2], sys.argv[2::2]):\n\
    \x20try:\n\
    \x20 s = socket.create_connection((host, int(port)), timeout=5)\n\
    \x20 print(s.recv(100).decode(), end=''); sys.exit(0)\n\
    \x20except OSError as e: print(e, file=sys.stderr)\n\
    sys.exit(7)";

/// Ports of the host that greet whoever comes, on both loopbacks where there are two.
pub(super) struct Greeter {
    pub(super) peers: Vec<String>,
    threads: Vec<JoinHandle<()>>,
    ending: Arc<AtomicBool>,
}

pub(super) fn greeter() -> Greeter {
    let mut greeter = Greeter { peers: Vec::new(), threads: Vec::new(), ending: Arc::default() };
    for host in ["127.0.0.1", "::1"] {
        let Ok(listener) = TcpListener::bind((host, 0)) else { continue };
        let port = listener.local_addr().expect("an address").port();
        let ending = Arc::clone(&greeter.ending);
        greeter.threads.push(std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ending.load(Ordering::Relaxed) {
                    break;
                }
                let _ = (&stream).write_all(b"reached");
            }
        }));
        greeter.peers.extend([host.to_owned(), port.to_string()]);
    }
    greeter
}

impl Drop for Greeter {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        for peer in self.peers.chunks(2) {
            let _ = TcpStream::connect((peer[0].as_str(), peer[1].parse().unwrap_or(0)));
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn connect(scene: &Scene, sandbox: &Sandbox, peers: &[String]) -> Finished {
    let mut command = vec!["python3", "-c", CONNECT];
    command.extend(peers.iter().map(String::as_str));
    scene.run(sandbox, &command)
}

fn control(peers: &[String]) {
    for peer in peers.chunks(2) {
        let outside = Command::new("/usr/bin/python3").args(["-c", CONNECT]).args(peer).output().expect("python3");
        assert_eq!(outside.stdout, b"reached", "the control reaches {peer:?}");
    }
}

pub(super) fn network_none_reaches_no_port_of_the_host(scene: &Scene) {
    let greeter = greeter();
    let peers = &greeter.peers;
    control(peers);
    let finished = connect(scene, &scene.sandbox(), peers);
    assert_eq!(finished.outcome.exit_code(), 7, "{}", told(&finished));
    let finished = connect(scene, &scene.sandbox().network("none"), peers);
    assert_eq!(finished.outcome.exit_code(), 7, "{}", told(&finished));
}

pub(super) fn network_full_reaches_a_port_of_the_host(scene: &Scene) {
    let greeter = greeter();
    let peers = &greeter.peers;
    control(peers);
    for peer in peers.chunks(2) {
        let finished = connect(scene, &scene.sandbox().network("full"), peer);
        assert_eq!(finished.stdout, b"reached", "{}", told(&finished));
    }
}

pub(super) fn network_none_has_a_loopback_only(scene: &Scene) {
    let interfaces = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '";
    assert_eq!(scene.says(&scene.sandbox(), interfaces), "lo\n");
    // A name is refused at once instead of after a wait.
    scene.fails(&scene.sandbox(), "getent hosts example.com");
}

pub(super) fn localhost_resolves_and_a_server_on_it_answers(scene: &Scene) {
    let python = "import os,socket,threading\n\
        assert socket.gethostbyname('localhost') == '127.0.0.1'\n\
        for host in ['localhost', '127.0.0.1']:\n\
        \x20l = socket.create_server((host, 0))\n\
        \x20threading.Thread(target=lambda l=l: l.accept()[0].sendall(b'answered'), daemon=True).start()\n\
        \x20assert socket.create_connection((host, l.getsockname()[1]), 5).recv(100) == b'answered'\n\
        name = '/tmp/polder-%d' % os.getpid()\n\
        u = socket.socket(socket.AF_UNIX); u.bind(name); u.listen()\n\
        c = socket.socket(socket.AF_UNIX); c.connect(name); os.unlink(name)\n\
        d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); d.bind(('127.0.0.1', 0)); d.sendto(b'x', d.getsockname())\n\
        assert d.recv(10) == b'x'\n\
        print('works')";
    for mode in ["none", "full"] {
        let finished = scene.run(&scene.sandbox().network(mode), &["python3", "-c", python]);
        assert_eq!(finished.stdout, b"works\n", "{mode}: {}", told(&finished));
    }
    scene.says(&scene.sandbox(), "getent hosts localhost");
}

pub(super) fn abstract_sockets_of_the_host_are_out_of_reach(scene: &Scene) {
    let name = format!("polder-conformance-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("an address");
    let _listener = UnixListener::bind_addr(&address).expect("a socket");
    let python = format!(
        "import socket,sys\ns = socket.socket(socket.AF_UNIX)\ntry: s.connect('\\0{name}')\nexcept OSError as e: sys.exit(7)"
    );
    let outside = Command::new("/usr/bin/python3").args(["-c", &python]).status().expect("python3");
    assert!(outside.success(), "the control reaches the socket");
    for mode in ["none", "full"] {
        let finished = scene.run(&scene.sandbox().network(mode), &["python3", "-c", &python]);
        assert_eq!(finished.outcome.exit_code(), 7, "{mode}: {}", told(&finished));
    }
}
