//! A registry of one image on the loopback, which can keep a part of it back: nothing can be pulled from elsewhere on a
//! test machine.

use crate::place::Place;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// What is in the image beside one program, so that it takes more than one packet.
const FILLER_BYTES: usize = 4 * 1024 * 1024;

/// The registry. Its threads end with the test.
#[derive(Debug)]
pub struct Registry {
    /// The name by which a daemon gets the image.
    pub image: String,
    gate: Arc<Gate>,
    parts: Arc<Mutex<Parts>>,
}

/// What is served at which path, and what it is.
type Parts = BTreeMap<String, (&'static str, Vec<u8>)>;

#[derive(Debug, Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
    /// Whether somebody was kept waiting.
    reached: AtomicBool,
}

impl Registry {
    /// Serves the image, but for the second half of its files until [`Registry::open`] is called.
    pub fn start(place: &Place) -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").expect("a port"), place)
    }

    /// The same at a port at which every daemon speaks to a registry without TLS.
    pub fn for_everybody(place: &Place) -> Self {
        let ports = std::env::var("POLDER_TEST_REGISTRIES").expect("ports that daemons were told of");
        let mut free = ports.split(',').filter_map(|port| TcpListener::bind(format!("127.0.0.1:{port}")).ok());
        Self::at(free.next().expect("a free port"), place)
    }

    fn at(listener: TcpListener, place: &Place) -> Self {
        let port = listener.local_addr().expect("an address").port();
        let gate = Arc::new(Gate::default());
        let parts = Arc::new(Mutex::new(parts(place)));
        let (shared, served) = (Arc::clone(&gate), Arc::clone(&parts));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (parts, gate) = (Arc::clone(&served), Arc::clone(&shared));
                // A daemon that goes away is none of our business.
                std::thread::spawn(move || drop(answer(stream, &parts, &gate)));
            }
        });
        Self { image: format!("127.0.0.1:{port}/polder/slow:1"), gate, parts }
    }

    /// Serves another image under the same name from now on: what `place` has in `image` now.
    pub fn renew(&self, place: &Place) {
        *self.parts.lock().expect("the parts") = parts(place);
    }

    /// Lets the rest go.
    pub fn open(&self) {
        *self.gate.open.lock().expect("the gate") = true;
        self.gate.opened.notify_all();
    }

    /// Whether somebody waits, or has waited, for the rest.
    pub fn is_reached(&self) -> bool {
        self.gate.reached.load(Ordering::SeqCst)
    }
}

fn parts(place: &Place) -> Parts {
    for directory in ["bin", "dev", "etc", "proc", "sys", "tmp"] {
        fs::create_dir_all(place.dir().join(format!("image/{directory}"))).expect("a directory");
    }
    fs::copy("/bin/busybox", place.dir().join("image/bin/busybox")).expect("a program");
    for name in ["sh", "cat", "touch", "true"] {
        let link = place.dir().join(format!("image/bin/{name}"));
        if !link.exists() {
            std::os::unix::fs::symlink("busybox", link).expect("a link");
        }
    }
    // Other bytes every time: a daemon that has them from the last test would not ask again.
    let mark = format!("{} {:?}", std::process::id(), std::time::SystemTime::now());
    let filler: Vec<u8> = mark.bytes().cycle().take(FILLER_BYTES).collect();
    place.write("image/filler", &filler);
    let tar = |arguments: &[&str]| {
        let mut tar = Command::new("tar");
        tar.args(["--owner=0", "--group=0", "--create", "--directory"]).arg(place.dir().join("image")).args(arguments);
        tar.output().expect("tar").stdout
    };
    let layer = tar(&["."]);
    let layer_digest = digest(place, &layer);
    let config = serde_json::json!({
        "architecture": "amd64", "os": "linux", "config": { "Env": ["PATH=/bin"] },
        "rootfs": { "type": "layers", "diff_ids": [layer_digest] },
        // Without it one daemon builds nothing on the image.
        "history": [{ "created_by": "a test" }],
    });
    let config = config.to_string().into_bytes();
    let config_digest = digest(place, &config);
    let kind = "application/vnd.docker.distribution.manifest.v2+json";
    let manifest = serde_json::json!({
        "schemaVersion": 2, "mediaType": kind,
        "config": {
            "mediaType": "application/vnd.docker.container.image.v1+json",
            "size": config.len(), "digest": config_digest,
        },
        "layers": [{
            "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
            "size": layer.len(), "digest": layer_digest,
        }],
    });
    let manifest = manifest.to_string().into_bytes();
    let bytes = "application/octet-stream";
    let below = "/v2/polder/slow";
    BTreeMap::from([
        ("/v2/".to_owned(), ("application/json", b"{}".to_vec())),
        (format!("{below}/manifests/{}", digest(place, &manifest)), (kind, manifest.clone())),
        (format!("{below}/manifests/1"), (kind, manifest)),
        (format!("{below}/blobs/{config_digest}"), (bytes, config)),
        (format!("{below}/blobs/{layer_digest}"), (bytes, layer)),
    ])
}

fn digest(place: &Place, bytes: &[u8]) -> String {
    let file = place.write("image.part", bytes);
    let said = Command::new("sha256sum").arg(file).output().expect("sha256sum").stdout;
    format!("sha256:{}", String::from_utf8_lossy(&said[..64]))
}

/// One request and its answer; the connection ends with it.
fn answer(mut stream: TcpStream, parts: &Mutex<Parts>, gate: &Gate) -> std::io::Result<()> {
    let mut request = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    reader.read_line(&mut request)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let found = parts.lock().expect("the parts").get(path).cloned();
    let Some((kind, bytes)) = found else {
        return write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let length = bytes.len();
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")?;
    if method == "HEAD" {
        return Ok(());
    }
    let (first, rest) = if length > FILLER_BYTES { bytes.split_at(length / 2) } else { bytes.split_at(length) };
    stream.write_all(first)?;
    if rest.is_empty() {
        return Ok(());
    }
    gate.reached.store(true, Ordering::SeqCst);
    let open = gate.open.lock().expect("the gate");
    drop(gate.opened.wait_while(open, |open| !*open).expect("the gate"));
    stream.write_all(rest)
}
