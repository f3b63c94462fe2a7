//! Commands in containers, by every daemon that this machine declares.

use polder_e2e::{Daemon, Place, Said, daemons, image, until, with_daemons};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    with_daemons(&[
        ("an_image_has_its_own_programs_and_the_callers_files", an_image_has_its_own_programs_and_the_callers_files),
        (
            "an_image_has_its_own_path_and_home_and_no_daemon_hears_a_value",
            an_image_has_its_own_path_and_home_and_no_daemon_hears_a_value,
        ),
        ("strange_names_reach_a_container", strange_names_reach_a_container),
        ("what_a_container_denies_is_seen_and_learnt", what_a_container_denies_is_seen_and_learnt),
        ("whatever_ends_polder_no_container_stays", whatever_ends_polder_no_container_stays),
        ("steps_run_in_containers_and_hand_their_outputs_on", steps_run_in_containers_and_hand_their_outputs_on),
        (
            "what_cannot_be_done_is_one_clear_error_and_leaves_nothing",
            what_cannot_be_done_is_one_clear_error_and_leaves_nothing,
        ),
        ("no_socket_of_another_daemon_is_shown", no_socket_of_another_daemon_is_shown),
    ])
}

/// A sandbox of the image that every daemon has.
fn configure(daemon: &Daemon, place: &Place, more: &str) {
    let text = format!("sandboxes:\n  box: {{engine: {}, image: '{}'{more}}}\nsandbox: box\n", daemon.engine, image());
    place.write("work/polder.yaml", text);
}

fn an_image_has_its_own_programs_and_the_callers_files() {
    for daemon in daemons() {
        let place = Place::new();
        configure(&daemon, &place, "");
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

fn what_a_container_denies_is_seen_and_learnt() {
    for daemon in daemons() {
        let place = Place::new();
        let file = place.write("other/data", "seen\n").display().to_string();
        let (engine, grant) = (daemon.engine, format!("fs.read={file}"));
        let run = ["run", "--engine", engine, "--observe", "exact"];
        let said = daemon.says(&place, &[&run[..], &["--", "cat", &file]].concat());
        assert!(said.code == 1 && said.err.contains(&format!("; to allow it: --allow {grant}")), "{said:?}");
        let said = daemon.says(&place, &[&run[..], &["--allow", &grant, "--", "cat", &file]].concat());
        assert_eq!((said.code, said.out.as_str()), (0, "seen\n"), "{said:?}");
        let said = daemon.says(&place, &["learn", "--engine", engine, "--rounds", "2", "--", "cat", &file]);
        assert!(said.code == 0 && place.read("work/polder.yaml").contains(&file), "{said:?}");
        // What the image has is the image's, whatever the host has by that name.
        configure(&daemon, &place, "");
        let script = format!("cat {file}; echo x > /bin/new");
        let said = daemon.says(&place, &["run", "--observe", "exact", "--", "sh", "-c", &script]);
        assert!(said.err.contains("blocked write to /bin/new (the image's root is read-only"), "{said:?}");
        assert!(said.code != 0 && !said.err.contains("--allow"), "{said:?}");
    }
}

fn an_image_has_its_own_path_and_home_and_no_daemon_hears_a_value() {
    for daemon in daemons() {
        let place = Place::new();
        // The test's own are others: see `Place::command`.
        let recipe = format!("FROM {}\\nENV PATH=/opt/bin:/bin HOME=/srv/own\\n", image());
        let keys = format!("engine: {}, dockerfile_inline: \"{recipe}\"", daemon.engine);
        place.write("work/polder.yaml", format!("sandboxes:\n  box: {{{keys}}}\nsandbox: box\n"));
        let text = "echo $PATH $HOME $TOKEN; echo $TOKEN >got; touch ~/made && touch begun; while ! test -e go; do sleep 0.1; done";
        let mut command =
            daemon.polder(&place, &["run", "--env", "TOKEN", "--env", "A=a-value", "--", "sh", "-c", text]);
        command.env("TOKEN", "a-secret-of-mine").stdout(Stdio::piped()).stderr(Stdio::piped());
        let polder = command.spawn().expect("polder");
        until("the command", || place.has("work/begun"));
        let listed: serde_json::Value = serde_json::from_str(&daemon.containers_of(polder.id())).expect("JSON");
        let inspected = daemon.inspected(listed[0]["Id"].as_str().expect("a container"));
        place.write("work/go", "");
        let said = Said::from(polder.wait_with_output().expect("an end"));
        assert_eq!((said.code, said.out.as_str()), (0, "/opt/bin:/bin /srv/own ***\n"), "{said:?}");
        assert_eq!(place.read("work/got"), "a-secret-of-mine\n", "{}: it is there for the command", daemon.engine);
        for value in ["a-secret-of-mine", "a-value"] {
            assert!(!inspected.contains(value), "{}: {inspected}", daemon.engine);
            let control = daemon.inspected_with(&format!("TOKEN={value}"));
            assert!(control.contains(value), "the control: the plain way shows it: {control}");
        }
    }
}

fn strange_names_reach_a_container() {
    for daemon in daemons() {
        let place = Place::new();
        configure(&daemon, &place, "");
        place.write("work/a:b,c=d e/inside", "seen");
        let directory = place.work().join("a:b,c=d e");
        let directory = directory.to_str().expect("text");
        // Outside a repository a file of the parent's does not count.
        let file = place.work().join("polder.yaml");
        let arguments = ["run", "--config", file.to_str().expect("text"), "-C", directory, "--", "sh", "-c"];
        let script = "test ! -e /usr/bin/python3 && cat inside";
        let mut said = daemon.says(&place, &[&arguments[..], &[script]].concat());
        if daemon.engine == "podman" {
            assert!(said.code == 125 && said.err.contains("has a comma"), "{said:?}");
            assert!(said.err.contains("--workdir /workspace"), "the remedy: {said:?}");
            let elsewhere = [&["run", "--workdir", "/workspace"], &arguments[1..], &[script]].concat();
            said = daemon.says(&place, &elsewhere);
        }
        assert_eq!((said.code, said.out.as_str()), (0, "seen"), "{said:?}");
    }
}

fn whatever_ends_polder_no_container_stays() {
    for daemon in daemons() {
        for signal in ["KILL", "TERM", "INT"] {
            let place = Place::new();
            configure(&daemon, &place, "");
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

fn steps_run_in_containers_and_hand_their_outputs_on() {
    for daemon in daemons() {
        let place = Place::new();
        configure(&daemon, &place, "");
        let steps = "steps:\n  \
            where: {exec: 'test ! -e /usr/bin/python3 && echo inside'}\n  \
            say: {exec: \"echo it was {{ outputs.where }}; echo x >made\", depends_on: where}\n  \
            see: {exec: 'cat made; echo y >made', depends_on: say, read_only: true}\n  \
            never: {exec: 'true', depends_on: see}\n";
        place.write("work/polder.yaml", place.read("work/polder.yaml") + steps);
        let mut command = daemon.polder(&place, &["steps"]);
        let polder = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder");
        let id = polder.id();
        let said = Said::from(polder.wait_with_output().expect("an end"));
        assert_eq!((said.code, said.out.as_str()), (1, "inside\nit was inside\nx\n"), "{said:?}");
        assert!(said.err.contains("never skipped"), "{said:?}");
        assert_eq!(place.read("work/made"), "x\n");
        until("the end of every container", || daemon.containers_of(id) == "[]");
    }
}

fn no_socket_of_another_daemon_is_shown() {
    for daemon in daemons() {
        let place = Place::new();
        configure(&daemon, &place, "");
        let socket = place.dir().join("other/daemon.sock");
        std::fs::create_dir(place.dir().join("other")).expect("a directory");
        let listening = UnixListener::bind(&socket).expect("a socket");
        let other = if daemon.variable == "DOCKER_HOST" { "CONTAINER_HOST" } else { "DOCKER_HOST" };
        let address = format!("unix://{}", socket.display());
        let bound = format!("{}:/opt/other:ro", place.dir().join("other").display());
        let run = |variable: Option<&str>| -> Said {
            let mut command =
                daemon.polder(&place, &["run", "--bind", &bound, "--", "sh", "-c", "ls /opt/other; touch ran"]);
            command.envs(variable.map(|name| (name, &address))).output().expect("polder").into()
        };
        let refused = |said: Said| {
            assert!(said.code == 125 && said.err.contains("daemon.sock`, the socket of a daemon"), "{said:?}");
            assert!(!place.has("work/ran"), "something ran");
        };
        refused(run(Some(other)));
        let context = place.write(
            "home/.docker/contexts/meta/other/meta.json",
            format!(r#"{{"Name":"other","Endpoints":{{"docker":{{"Host":"{address}"}}}}}}"#),
        );
        refused(run(None));
        std::fs::remove_file(context).expect("a file");
        let said = run(None);
        assert_eq!(
            (said.code, said.out.as_str()),
            (0, "daemon.sock\n"),
            "the control: nobody says that it is one: {said:?}"
        );
        drop(listening);
    }
}
