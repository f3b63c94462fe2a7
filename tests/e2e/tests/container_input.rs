//! What people get wrong with containers, and what looks wrong and is not: one clear error each, and nothing left behind.
#![forbid(unsafe_code)]

use polder_e2e::{Daemon, Place, Said, binary, daemons, image, is_root, with_daemons};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    with_daemons(&[
        ("a_failing_build_shows_its_last_lines", a_failing_build_shows_its_last_lines),
        ("an_image_without_a_shell_works", an_image_without_a_shell_works),
        ("names_of_sandboxes_and_services_may_be_upper_case", names_of_sandboxes_and_services_may_be_upper_case),
        ("a_bind_source_with_a_colon_is_shown", a_bind_source_with_a_colon_is_shown),
        ("a_missing_image_without_a_network_is_one_error", a_missing_image_without_a_network_is_one_error),
        ("a_socket_without_permission_is_said_to_be_one", a_socket_without_permission_is_said_to_be_one),
        ("what_an_image_adds_to_a_build_is_judged", what_an_image_adds_to_a_build_is_judged),
        ("another_runtime_is_used_by_name_or_refused", another_runtime_is_used_by_name_or_refused),
    ])
}

fn configure(daemon: &Daemon, place: &Place, keys: &str) {
    let text = format!("sandboxes:\n  Box.UPPER:\n    engine: {}\n{keys}\nsandbox: Box.UPPER\n", daemon.engine);
    place.write("work/polder.yaml", text);
}

/// Runs to the end, after which no container stays.
fn run(daemon: &Daemon, place: &Place, words: &[&str]) -> Said {
    let mut command = daemon.polder(place, words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder");
    let id = child.id();
    let said = child.wait_with_output().expect("an end").into();
    assert_eq!(daemon.containers_of(id), "[]", "{said:?}");
    said
}

fn refused(said: &Said, place: &Place, words: &[&str]) {
    assert_eq!(said.code, 125, "{said:?}");
    for words in words {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    assert!(!place.has("work/ran"), "something ran");
}

fn a_failing_build_shows_its_last_lines() {
    for daemon in daemons() {
        let place = Place::new();
        let recipe = format!("FROM {}\nRUN echo the last words; exit 3\n", image());
        place.write("work/Dockerfile", recipe);
        configure(&daemon, &place, "    dockerfile: Dockerfile");
        let said = run(&daemon, &place, &["run", "--", "touch", "ran"]);
        refused(&said, &place, &["the build failed", "\n  | the last words"]);
    }
}

fn an_image_without_a_shell_works() {
    for daemon in daemons() {
        let place = Place::new();
        fs::copy("/bin/busybox", place.work().join("busybox")).expect("a program");
        configure(&daemon, &place, "    dockerfile_inline: \"FROM scratch\\nCOPY busybox /busybox\\n\"");
        let said = run(&daemon, &place, &["run", "--", "/bin/sh", "-c", "true"]);
        assert_eq!(said.code, 127, "the control: there is no shell: {said:?}");
        let said = run(&daemon, &place, &["run", "--", "/busybox", "echo", "two words", "$HOME"]);
        assert_eq!((said.code, said.out.as_str()), (0, "two words $HOME\n"), "{said:?}");
    }
}

fn names_of_sandboxes_and_services_may_be_upper_case() {
    for daemon in daemons() {
        let place = Place::new();
        place.write("work/Dockerfile", format!("FROM {}\nRUN echo made >/made\n", image()));
        configure(&daemon, &place, "    dockerfile: Dockerfile");
        let said = run(&daemon, &place, &["run", "--", "cat", "/made"]);
        assert_eq!((said.code, said.out.as_str()), (0, "made\n"), "{said:?}");
        let image = image();
        let services = format!(
            "services:\n  App: {{image: {image}, depends_on: [Other]}}\n  Other: {{image: {image}, command: sleep 600}}\n"
        );
        place.write("work/compose.yaml", services);
        configure(&daemon, &place, "    compose: compose.yaml\n    service: App\n    network: false");
        let said = run(&daemon, &place, &["run", "--", "grep", "-c", "Other", "/etc/hosts"]);
        assert_eq!((said.code, said.out.as_str()), (0, "1\n"), "{said:?}");
    }
}

fn a_bind_source_with_a_colon_is_shown() {
    for daemon in daemons() {
        let place = Place::new();
        place.write("be:side,x=y/inside", "seen");
        let host = place.dir().join("be:side,x=y");
        let keys = format!(
            "    image: '{}'\n    bind_paths: [{{host: '{}', container: '/opt/a:b'}}]",
            image(),
            host.display()
        );
        configure(&daemon, &place, &keys);
        let said = run(&daemon, &place, &["run", "--", "cat", "/opt/a:b/inside"]);
        assert_eq!((said.code, said.out.as_str()), (0, "seen"), "{said:?}");
        fs::remove_dir_all(host).expect("removed");
        let said = run(&daemon, &place, &["run", "--", "touch", "ran"]);
        refused(&said, &place, &["be:side,x=y` does not exist", "polder.yaml:5"]);
    }
}

fn a_missing_image_without_a_network_is_one_error() {
    for daemon in daemons() {
        let place = Place::new();
        // Nobody listens at this port of the loopback: as good as no network, and the same on every machine.
        configure(&daemon, &place, "    image: 127.0.0.1:1/no-such:image");
        let said = run(&daemon, &place, &["run", "--", "touch", "ran"]);
        refused(&said, &place, &["cannot get the image `127.0.0.1:1/no-such:image`", "get or build it first"]);
        assert_eq!(said.err.matches("polder: ").count(), 1, "{said:?}");
    }
}

/// Only root can make a socket that is root's alone, and be somebody else.
fn a_socket_without_permission_is_said_to_be_one() {
    const NOBODY: u32 = 65534;
    if !is_root() {
        return;
    }
    // Not in a home, which another user cannot enter.
    let directory = Path::new("/var/tmp").join(format!("polder-e2e-socket.{}", std::process::id()));
    let work = directory.join("work");
    let home = directory.join("home");
    for path in [&work, &home] {
        fs::create_dir_all(path).expect("a directory");
        chown(path, Some(NOBODY), Some(NOBODY)).expect("somebody's");
    }
    let polder = directory.join("polder");
    fs::copy(binary(), &polder).expect("a copy");
    for path in [&directory, &polder] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).expect("for everybody");
    }
    let socket = directory.join("daemon.sock");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let said = |mode: u32, daemon: &Daemon| -> Said {
        fs::set_permissions(&socket, Permissions::from_mode(mode)).expect("a mode");
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&polder);
        command.args(["run", "--engine", daemon.engine, "--", "touch", "ran"]).current_dir(&work).env_clear();
        command
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &home)
            .env(daemon.variable, format!("unix://{}", socket.display()));
        command.output().expect("polder").into()
    };
    for daemon in daemons() {
        let said = said(0o600, &daemon);
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.err.contains("no permission on the socket") && said.err.contains("join the group"), "{said:?}");
    }
    // The control: whoever may use it gets further, to a daemon that hangs up.
    let answered = std::thread::spawn(move || drop(listener.accept()));
    let control = said(0o666, &daemons()[0]);
    assert!(control.code == 125 && !control.err.contains("permission"), "{control:?}");
    answered.join().expect("a caller");
    assert!(!work.join("ran").exists());
    fs::remove_dir_all(directory).expect("removed");
}

fn what_an_image_adds_to_a_build_is_judged() {
    // The other daemon does not tell what an image adds.
    for daemon in daemons().into_iter().filter(|daemon| daemon.engine == "docker") {
        let place = Place::new();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let port = listener.local_addr().expect("an address").port();
        let name = format!("localhost/polder-test/adding:{}", std::process::id());
        let made = |instruction: &str| {
            place.write("work/base/Dockerfile", format!("FROM {}\n{instruction}\n", image()));
            let packed =
                place.command("tar").args(["-c", "-b", "1", "-C", "base", "Dockerfile"]).output().expect("tar");
            daemon.make_image(&name, &packed.stdout);
            configure(&daemon, &place, &format!("    dockerfile_inline: \"FROM {name}\\n\""));
            run(&daemon, &place, &["run", "--", "sh", "-c", "touch ran; cat /made"])
        };
        let said = made(&format!("ONBUILD ADD http://127.0.0.1:{port}/x /x"));
        refused(&said, &place, &[&name, "ONBUILD", "fetches from the network", "remedy: "]);
        assert!(listener.accept().is_err(), "somebody was asked for it");
        let said = made("ONBUILD RUN echo added > /made");
        daemon.forget_image(&name);
        assert_eq!((said.code, said.out.as_str()), (0, "added\n"), "the control: {said:?}");
        fs::remove_file(place.work().join("ran")).expect("it ran");
    }
}

fn another_runtime_is_used_by_name_or_refused() {
    for daemon in daemons() {
        let place = Place::new();
        let with = |runtime: &str| {
            let keys = format!("    image: '{}'\n    options: {{runtime: {runtime}}}", image());
            configure(&daemon, &place, &keys);
        };
        with("runc");
        let said = run(&daemon, &place, &["run", "--", "echo", "ran"]);
        assert_eq!((said.code, said.out.as_str()), (0, "ran\n"), "{said:?}");
        let said = run(&daemon, &place, &["run", "--dry-run", "--", "true"]);
        assert!(said.out.contains("a container by the runtime `runc`"), "{said:?}");
        let said = run(&daemon, &place, &["run", "--dry-run", "--json", "--", "true"]);
        let plan: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
        assert!(plan.to_string().contains(r#""class":"container""#), "{plan}");
        with("no-such-runtime");
        let said = run(&daemon, &place, &["run", "--", "touch", "ran"]);
        refused(&said, &place, &["`no-such-runtime`", "remedy: "]);
        with("kata");
        let said = run(&daemon, &place, &["run", "--", "touch", "ran"]);
        refused(&said, &place, &["polder.yaml:5", "`kata` has a kernel of its own", "such as `runc`"]);
    }
}
